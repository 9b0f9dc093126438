import type {
  FirstOperation,
  FollowUp,
  JournalEntry,
  NewPayment,
  Operation,
  Payment,
} from '../../../src/payments/index.ts';

/** What an entry has posted: each a balanced set of two legs. */
export type Flow = 'taken' | 'refunded' | 'doubted' | 'found' | 'not found' | 'late';

/** An entry and what only the journal itself knows of it. */
export interface Row {
  entry: JournalEntry;
  owner: string;
  leaseUntil: number;
  dueAt: number | null;
  sentAt: number;
  checks: number;
  readonly postings: Flow[];
  /** The states of its events, in order. */
  readonly events: string[];
}

export interface Observation {
  readonly entryId: string;
  readonly state: string;
  readonly pspReference: string | null;
}

const AT = new Date(0);

/** The ids of a new entry of the model: the same run makes the same ones. */
export const idsOf = (made: number) => ({ id: `entry-${made}`, pspKey: `psp-key-${made}` });

type Asked = Pick<NewPayment | FollowUp, 'merchantId' | 'idempotencyKey' | 'psp' | 'fingerprint'>;

export function newEntry(
  made: number,
  asked: Asked,
  more: Pick<JournalEntry, 'paymentId' | 'operation' | 'amountMinor' | 'currency'> &
    Partial<JournalEntry>,
): JournalEntry {
  const { id, pspKey } = idsOf(made);
  return {
    merchantId: asked.merchantId,
    id,
    idempotencyKey: asked.idempotencyKey,
    psp: asked.psp,
    fingerprintVersion: asked.fingerprint.version,
    fingerprint: asked.fingerprint.digest,
    state: 'SENDING',
    outcomeSource: null,
    attempt: 1,
    pspIdempotencyKey: pspKey,
    leaseLeftMs: 0,
    pspReference: null,
    declineCode: null,
    softDecline: null,
    reason: null,
    request: null,
    nextCheckAt: null,
    createdAt: AT,
    settledAt: null,
    ...more,
  };
}

export function newPaymentRow(id: string, asked: NewPayment): Payment {
  const { merchantId, amountMinor, currency, paymentMethod, description, metadata, psp } = asked;
  return {
    amountMinor,
    currency,
    merchantId,
    id,
    transactionId: null,
    status: 'PROCESSING',
    authorizedMinor: 0,
    capturedMinor: 0,
    captureReservedMinor: 0,
    refundedMinor: 0,
    refundReservedMinor: 0,
    voidReserved: false,
    psp,
    pspReference: null,
    authorizedUntil: null,
    nextActionUrl: null,
    paymentMethod,
    description,
    metadata,
    version: 1,
    nextCheckAt: null,
    createdAt: AT,
    updatedAt: AT,
  };
}

export const firstOf = ({ operation }: NewPayment): FirstOperation => operation ?? 'CHARGE';

/** What an entry posts when it goes from one state to another. */
export function flowOf(from: string, entry: JournalEntry): Flow | undefined {
  const { operation, state, settledAt } = entry;
  const succeeded = state === 'SUCCEEDED';
  const late = operation === 'REVERSE' && entry.request?.['operation'] === 'CHARGE';
  if (operation === 'CHARGE' || operation === 'CAPTURE') return succeeded ? 'taken' : undefined;
  if (operation === 'REFUND' && from === 'SENDING') {
    if (succeeded) return 'refunded';
    return state === 'UNKNOWN' || state === 'PENDING' ? 'doubted' : undefined;
  }
  if ((operation !== 'REFUND' && !late) || settledAt === null) return undefined;
  return succeeded ? 'found' : 'not found';
}

/** What a payment reserves for a follow-up, as T1 does; the opposite of it when the entry has ended. */
export function reserved(payment: Payment, operation: Operation, minor: number): Payment {
  return {
    ...payment,
    captureReservedMinor: payment.captureReservedMinor + (operation === 'CAPTURE' ? minor : 0),
    refundReservedMinor: payment.refundReservedMinor + (operation === 'REFUND' ? minor : 0),
    voidReserved: operation === 'VOID' ? minor > 0 : payment.voidReserved,
  };
}
