import type { Decision, PaymentStatus, Refusal } from '../payments/index.ts';

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
        message: 'The PSP declined. No money moved. A new attempt needs a new key.',
        path: null,
        declineCode: decision.declineCode,
        soft: decision.soft,
      } as const;
    case 'failed':
      return {
        __typename: 'PaymentFailed',
        code: 'PAYMENT_FAILED',
        message: 'The PSP cannot do this. No money moved.',
        path: null,
      } as const;
    case 'unknown':
      return {
        __typename: 'OutcomeUnknown',
        code: 'OUTCOME_UNKNOWN',
        message:
          'The PSP may or may not have done it; it is being found out. Do not try with another key.',
        path: null,
        nextCheckAt: decision.nextCheckAt === null ? null : new Date(decision.nextCheckAt),
      } as const;
    case 'in-review':
      return {
        __typename: 'PaymentInReview',
        code: 'IN_REVIEW',
        message: 'A person has to decide about this. Do not try with another key.',
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
    case 'cancelled':
      return {
        __typename: 'IntentCancelled',
        code: 'INTENT_CANCELLED',
        message:
          'This idempotency key was cancelled. No money moved. A new intent needs a new key.',
        path: null,
      } as const;
    case 'payment-not-found':
    case 'currency-mismatch':
    case 'version-conflict':
    case 'invalid-state':
    case 'amount-limit':
      return refused(decision);
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

/** Why a follow-up was not begun. */
function refused(refusal: Refusal) {
  switch (refusal.kind) {
    case 'payment-not-found':
      return {
        __typename: 'PaymentNotFound',
        code: 'PAYMENT_NOT_FOUND',
        message: 'There is no such payment.',
        path: ['input', 'paymentId'],
      } as const;
    case 'currency-mismatch':
      return {
        __typename: 'CurrencyMismatch',
        code: 'CURRENCY_MISMATCH',
        message: 'The payment is in another currency.',
        path: ['input', 'amount', 'currency'],
        currency: refusal.currency,
      } as const;
    case 'version-conflict':
      return {
        __typename: 'VersionConflict',
        code: 'VERSION_CONFLICT',
        message: 'The payment has changed since it was read.',
        path: ['input', 'expectedVersion'],
        currentVersion: refusal.currentVersion,
      } as const;
    case 'invalid-state':
      return {
        __typename: 'InvalidState',
        code: 'INVALID_STATE',
        message: 'The payment does not allow this now.',
        path: ['input', 'paymentId'],
        currentStatus: refusal.currentStatus as Exclude<PaymentStatus, 'NOT_SENT'>,
        allowedActions: refusal.allowedActions,
      } as const;
    case 'amount-limit':
      return {
        __typename: 'AmountLimitExceeded',
        code: 'AMOUNT_LIMIT_EXCEEDED',
        message: 'This is more than remains.',
        path: ['input', 'amount'],
        maximum: { amountMinor: refusal.maximumMinor, currency: refusal.currency },
      } as const;
  }
}
