import type {
  CreatePaymentPayloadResolvers,
  TransactionIdConflictResolvers,
} from '../../generated/resolvers.ts';
import { isFinal } from '../../payments/index.ts';
import { userErrorsOf } from '../user-errors.ts';

/** Of every money mutation. The decision is the kept one; the payment is read live. */
export const Payload: CreatePaymentPayloadResolvers = {
  payment: async ({ paymentId }, _args, { payments }) =>
    paymentId === null ? null : ((await payments.load(paymentId)) ?? null),
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
