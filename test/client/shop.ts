import {
  type Attempt,
  createPayClient,
  createPayment,
  type IntentStore,
  memoryStore,
  type PayClientOptions,
} from '../../src/client/index.ts';
import { type FakeServer, type Fault, fakeServer } from '../../src/client/testing/index.ts';

export const CART = { scope: 'cart:7:1' } as const;

export function euros(amountMinor: number, paymentMethod = 'tok_visa') {
  return { input: { amount: { amountMinor, currency: 'EUR' }, paymentMethod } };
}

interface ShopOptions {
  readonly server?: FakeServer;
  readonly store?: IntentStore;
  readonly more?: Partial<PayClientOptions<{ createPayment: typeof createPayment }>>;
}

/** A client of a fake server. */
export function shop(faults: readonly Fault[] = [], options: ShopOptions = {}) {
  const server = options.server ?? fakeServer();
  server.script(...faults);
  const store = options.store ?? memoryStore();
  const attempts: Attempt[] = [];
  const storeFailures: unknown[] = [];
  const open = () =>
    createPayClient({
      endpoint: 'http://fake/graphql',
      fetch: server.fetch,
      store,
      onAttempt: (event) => attempts.push(event),
      onStoreFailure: (error) => storeFailures.push(error),
      operations: { createPayment },
      ...options.more,
    });
  return { server, store, attempts, storeFailures, pay: open(), open };
}
