import type { Decision } from '../payments/index.ts';

interface Plain<Type extends string, Code extends string> {
  readonly __typename: Type;
  readonly code: Code;
  readonly message: string;
  readonly path: readonly string[] | null;
}

/** The payment is resolved by id, when it is asked for. */
export interface TransactionIdConflict
  extends Plain<'TransactionIdConflict', 'TRANSACTION_ID_CONFLICT'> {
  readonly paymentId: string;
}

/** What went wrong with the money, as data; nothing if it went well. */
export function userErrorsOf(decision: Decision) {
  const error = userErrorOf(decision);
  return error === undefined ? [] : [error];
}

function userErrorOf(decision: Decision) {
  switch (decision.kind) {
    case 'succeeded':
    case 'pending':
      return undefined;
    case 'declined':
      return {
        __typename: 'PaymentDeclined',
        code: 'PAYMENT_DECLINED',
        message: 'The payment was declined. No money moved. A new attempt needs a new key.',
        path: null,
        declineCode: decision.declineCode,
        soft: decision.soft,
      } as const;
    case 'failed':
      return {
        __typename: 'PaymentFailed',
        code: 'PAYMENT_FAILED',
        message: 'The PSP cannot make this payment. No money moved.',
        path: null,
      } as const;
    case 'unknown':
      return {
        __typename: 'OutcomeUnknown',
        code: 'OUTCOME_UNKNOWN',
        message:
          'The PSP may or may not have taken the money; it is being found out. Do not pay with another key.',
        path: null,
        nextCheckAt: decision.nextCheckAt === null ? null : new Date(decision.nextCheckAt),
      } as const;
    case 'in-review':
      return {
        __typename: 'PaymentInReview',
        code: 'IN_REVIEW',
        message: 'A person has to decide about this payment. Do not pay with another key.',
        path: null,
      } as const;
    case 'psp-unavailable':
      return {
        __typename: 'PspUnavailable',
        code: 'PSP_UNAVAILABLE',
        message: 'Nothing was sent to the PSP. Send the same request with the same key again.',
        path: null,
        retryAfterMs: decision.retryAfterMs,
      } as const;
    case 'transaction-id-taken':
      return {
        __typename: 'TransactionIdConflict',
        code: 'TRANSACTION_ID_CONFLICT',
        message: 'There is a live payment under this transaction id already.',
        path: ['input', 'transactionId'],
        paymentId: decision.paymentId,
      } as const;
  }
}
