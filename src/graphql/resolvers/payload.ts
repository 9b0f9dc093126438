import type {
  CreatePaymentPayloadResolvers,
  TransactionIdConflictResolvers,
} from '../../generated/resolvers.ts';
import { isFinal, JournalUnavailable } from '../../payments/index.ts';
import { paymentUnreadable } from '../refusals.ts';
import { userErrorsOf } from '../user-errors.ts';

/** When a payment that cannot be read may be asked for again, in ms. */
const RETRY_AFTER_MS = 1_000;

/** Of every money mutation. The decision is the kept one; the payment is read live. */
export const Payload: CreatePaymentPayloadResolvers = {
  payment: async ({ paymentId, decision }, _args, { payments }) => {
    if (paymentId === null) return null;
    try {
      return (await payments.load(paymentId)) ?? null;
    } catch (error) {
      if (!(error instanceof JournalUnavailable)) throw error;
      const decided = isFinal(decision) ? decision.kind.toUpperCase() : null;
      throw paymentUnreadable(decided, RETRY_AFTER_MS);
    }
  },
  userErrors: ({ decision }) => userErrorsOf(decision),
  idempotency: ({ receipt, attempt, firstSeenAt, settledAt, decision }, _args, { services }) => ({
    key: receipt.key,
    outcome: receipt.how,
    attempt,
    firstSeenAt: new Date(firstSeenAt),
    answerExpiresAt:
      settledAt !== null && isFinal(decision)
        ? new Date(Date.parse(settledAt) + services.answerTtlMs)
        : null,
  }),
};

export const TransactionIdConflict: TransactionIdConflictResolvers = {
  existingPayment: async ({ paymentId }, _args, { payments }) => {
    const payment = await payments.load(paymentId);
    if (payment === undefined) throw new Error('The conflicting payment is gone.');
    return payment;
  },
};
