import { type JournalEntry, lateOf } from '../payments/index.ts';

/** What a person has to look at begins with ALERT in the log. */
export const LATE_ALERT =
  'ALERT: the PSP executed what it had refused; it is booked and given back';

/** The reversal and what it gives back. */
export function alertOf(reversal: JournalEntry) {
  const { merchantId, id, paymentId, amountMinor, currency, psp } = reversal;
  return { merchantId, entryId: id, paymentId, amountMinor, currency, psp, ...lateOf(reversal) };
}
