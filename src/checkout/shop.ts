import { createPayClient, createPayment } from '../client/index.ts';
import { browserStore } from '../client/stores/browser.ts';
import type { Pay } from './attempt.ts';
import { type Cart, CURRENCY, totalOf } from './cart.ts';
import { type Faults, overFaults, type WireEvent } from './network.ts';

export interface PayOptions {
  readonly apiKey: string;
  readonly faults: Faults;
  readonly onWire: (event: WireEvent) => void;
  /** Told of each key before it is used for the first time. */
  readonly onKey: (key: string, scope: string) => void;
  readonly onWaiting: (ms: number) => void;
}

/** The one piece of a real shop in here: how it sets up its client. */
export async function openPay(options: PayOptions): Promise<{ pay: Pay; keptIn: string }> {
  const store = browserStore({ name: 'checkout' });
  const pay = createPayClient({
    endpoint: '/graphql',
    headers: { authorization: `Bearer ${options.apiKey}` },
    store,
    operations: { createPayment },
    fetch: overFaults(options.faults, options.onWire),
    onAttempt: ({ event, key, scope, waitMs }) => {
      options.onKey(key, scope);
      if (event === 'waiting' && waitMs !== undefined) options.onWaiting(waitMs);
    },
  });
  return { pay, keptIn: await store.ready() };
}

/** What is asked of the server for a cart: the same for every press, so that it is one intent. */
export function paymentFor(cart: Cart) {
  return {
    input: {
      amount: { amountMinor: totalOf(cart), currency: CURRENCY },
      paymentMethod: cart.method,
      description: `Corner shop, cart ${cart.id}, revision ${cart.revision}`,
    },
  };
}
