import type { Request } from './client.ts';
import type { Random } from './random.ts';

const CURRENCIES = ['EUR', 'USD', 'JPY', 'KWD'] as const;
const MOST_MINOR = 99_999_999;
/** What the PSP does with a charge; the plain one more often than any other. */
const SOURCES = [
  ...Array.from({ length: 10 }, () => 'pm_ok'),
  'pm_declined',
  'pm_insufficient_funds',
  'pm_slow_300',
  'pm_requires_action',
  'pm_requires_action',
  'pm_execute_then_hang',
  'pm_execute_then_reset',
  'pm_execute_then_500',
  'pm_execute_then_truncate',
  'pm_execute_then_garbage',
  'pm_fail_before_500',
  'pm_rate_limited_1',
  'pm_pending_800',
  'pm_execute_late_1500',
] as const;

/** How often a client does something special. */
export const SHARES = {
  storm: 0.1,
  altered: 0.05,
  hangUp: 0.05,
  replay: 0.3,
  cancel: 0.08,
  shared: 0.03,
  card: 0.01,
  extreme: 0.03,
} as const;

/** A card number that issuers give out for tests; no server may keep or repeat it. */
export const CARDS = ['4242 4242 4242 4242', '4242424242424242'] as const;
/** A merchant's own words: kept with the payment, and nowhere else. */
export const WORDS = 'words that only the database keeps';

/** What a client wants to pay. */
export function newOrder(random: Random): {
  readonly input: Readonly<Record<string, unknown>>;
  readonly manual: boolean;
} {
  const extreme = random.one([1, MOST_MINOR]);
  const usual = random.between(1, 50_000);
  const amountMinor = random.chance(SHARES.extreme) ? extreme : usual;
  const manual = random.chance(0.35);
  const input = {
    amount: { amountMinor, currency: random.one(CURRENCIES) },
    paymentMethod: random.one(SOURCES),
    captureMode: manual ? 'MANUAL' : 'AUTOMATIC',
    ...(random.chance(0.2) ? { description: WORDS } : {}),
    ...(random.chance(SHARES.shared) ? { transactionId: `order-${random.below(50)}` } : {}),
  };
  return { input, manual };
}

export const cancelling = ({ merchant, key }: Request): Request => ({
  merchant,
  key: `${key}-cancel`,
  field: 'cancelByIdempotencyKey',
  input: { cancels: key },
});

/**
 * The same key with another payload, by some minor units, or another kind of request. It may come
 * first and be the one that is paid; there is nobody then who would do what a buyer has to.
 */
export function alteredFrom(request: Request, random: Random): Request {
  const { amount } = request.input as { amount?: { amountMinor: number } };
  if (amount === undefined || request.field !== 'createPayment') {
    return {
      ...request,
      field: 'createPayment',
      input: { amount: { amountMinor: 77_777, currency: 'EUR' }, paymentMethod: 'pm_ok' },
    };
  }
  const by = random.between(1, 9);
  const other = {
    ...amount,
    amountMinor: amount.amountMinor + (amount.amountMinor > 10 ? -by : by),
  };
  return { ...request, input: { ...request.input, amount: other, paymentMethod: 'pm_ok' } };
}
