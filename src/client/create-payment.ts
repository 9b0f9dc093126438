import type {
  CreatePaymentMutation,
  CreatePaymentMutationVariables,
  PaymentByKeyQuery,
  PaymentFieldsFragment,
} from '../generated/client/graphql.ts';
import {
  CreatePaymentId,
  CreatePaymentText,
  PaymentByKeyId,
  PaymentByKeyText,
} from '../generated/client/texts.ts';
import type { Operation } from './operation.ts';
import type { Problem, Verdict } from './outcome.ts';

/** What went wrong with a payment: the fields of every kind, those of newer servers included. */
export interface PaymentProblem extends Problem {
  readonly __typename?: string;
  /** The argument concerned. */
  readonly path?: readonly string[] | null;
  /** Only with a decline that was answered directly: a look-up does not tell it. */
  readonly declineCode?: string;
  /** True if the same payment method may succeed later. */
  readonly soft?: boolean;
  readonly nextCheckAt?: string | null;
  readonly retryAfterMs?: number;
  readonly existingPayment?: { readonly id: string; readonly status: string };
}

type Payment = PaymentFieldsFragment;
type PaymentVerdict = Verdict<Payment, PaymentProblem>;
type Variables = Omit<CreatePaymentMutationVariables, 'idempotencyKey'>;

/**
 * The stock schema's `createPayment`, ready for `createPayClient`. What `idempotent` would make of
 * the typed documents, but with the texts made beforehand, so that no printer is shipped.
 */
export const createPayment: Operation<Variables, Payment, PaymentProblem> = {
  name: 'CreatePayment',
  text: CreatePaymentText,
  id: CreatePaymentId,
  key: 'idempotencyKey',
  read: (data) => readPayment(data as CreatePaymentMutation),
  lookup: {
    name: 'PaymentByKey',
    text: PaymentByKeyText,
    id: PaymentByKeyId,
    key: 'idempotencyKey',
    read: (data) => readByKey(data as PaymentByKeyQuery),
  },
};

function readPayment({ createPayment: answer }: CreatePaymentMutation): PaymentVerdict {
  const { payment, idempotency } = answer;
  const problem: PaymentProblem | undefined = answer.userErrors[0];
  if (problem === undefined) return readStatus(payment, idempotency.outcome !== 'EXECUTED');
  switch (problem.__typename) {
    case 'PaymentDeclined':
    case 'PaymentFailed':
      return { is: 'declined', problem };
    case 'OutcomeUnknown':
    case 'PaymentInReview':
      return { is: 'processing', problem };
    case 'PspUnavailable':
      return { is: 'notSent', problem, retryAfterMs: problem.retryAfterMs ?? 1_000 };
    case 'TransactionIdConflict':
      return { is: 'rejected', problem };
    default:
      return underWay(payment, problem);
  }
}

/**
 * Without a problem the decision was "succeeded", or is yet to come. The payment is as of now: it
 * may have been refunded since.
 */
function readStatus(payment: Payment | null, replayed: boolean): PaymentVerdict {
  switch (payment?.status) {
    case 'AUTHORIZED':
    case 'PARTIALLY_CAPTURED':
    case 'CAPTURED':
    case 'PARTIALLY_REFUNDED':
    case 'REFUNDED':
    case 'VOIDED':
    case 'EXPIRED':
      return { is: 'settled', value: payment, replayed };
    default:
      return underWay(payment);
  }
}

/** @throws if it is over: then a newer server has said something that we do not understand */
function underWay(payment: Payment | null, problem?: PaymentProblem): PaymentVerdict {
  if (payment?.isTerminal || (!payment && problem)) throw problem;
  return { is: 'processing', problem };
}

function readByKey({ idempotencyKey: record }: PaymentByKeyQuery): PaymentVerdict {
  if (record === null) return { is: 'absent' };
  const { state, next, payment } = record;
  const problem: PaymentProblem = { code: `PAYMENT_${state}`, message: 'No money moved.' };
  if (state === 'SUCCEEDED' && payment) return { is: 'settled', value: payment, replayed: true };
  if (next === 'NEW_KEY') return { is: 'declined', problem };
  if (state === 'FAILED') return { is: 'notSent', problem, retryAfterMs: 0 };
  return { is: 'processing' };
}
