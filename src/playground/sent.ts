import type { SentPayment, Variables } from './examples.ts';
import { type Observed, observed } from './observed.ts';

interface Intent {
  readonly idempotencyKey: string;
  readonly input: Variables;
}

interface Sent {
  readonly last: SentPayment | undefined;
  /** How often each key was sent to do something since the page was opened. */
  readonly times: ReadonlyMap<string, number>;
}

const STORED_AS = 'semel:last-payment';

/** What this browser has sent; the last payment outlives the page, so that its key can be used again. */
export const sent: Observed<Sent> = observed<Sent>({ last: restored(), times: new Map() });

/** A key means what it was first sent with: later requests with the same key change nothing here. */
export function remember(variables: unknown): void {
  if (!isIntent(variables)) return;
  const { last, times } = sent.get();
  const key = variables.idempotencyKey;
  const isNew = isPayment(variables) && !times.has(key) && key !== last?.idempotencyKey;
  if (isNew) store(variables);
  sent.set({
    last: isNew ? variables : last,
    times: new Map(times).set(key, (times.get(key) ?? 0) + 1),
  });
}

/** What has a key and something to do with it; a look-up has only the key. */
function isIntent(value: unknown): value is Intent {
  return isObject(value) && typeof value['idempotencyKey'] === 'string' && isObject(value['input']);
}

function isPayment(value: unknown): value is SentPayment {
  if (!isIntent(value)) return false;
  const { amount, paymentMethod } = value.input;
  return isObject(amount) && 'amountMinor' in amount && typeof paymentMethod === 'string';
}

function isObject(value: unknown): value is Variables {
  return typeof value === 'object' && value !== null;
}

function restored(): SentPayment | undefined {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(STORED_AS) ?? 'null');
    return isPayment(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function store(payment: SentPayment): void {
  try {
    localStorage.setItem(STORED_AS, JSON.stringify(payment));
  } catch {
    // A browser that stores nothing forgets the key with the page.
  }
}
