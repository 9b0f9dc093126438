import type { Money } from './money.ts';

/** As the GraphQL enum of the same name, and NOT_SENT: nothing left for the PSP, nobody sees it. */
export const PAYMENT_STATUSES = [
  'PROCESSING',
  'REQUIRES_ACTION',
  'AUTHORIZED',
  'PARTIALLY_CAPTURED',
  'CAPTURED',
  'PARTIALLY_REFUNDED',
  'REFUNDED',
  'VOIDED',
  'DECLINED',
  'FAILED',
  'EXPIRED',
  'UNKNOWN',
  'IN_REVIEW',
  'NOT_SENT',
] as const;
export type PaymentStatus = (typeof PAYMENT_STATUSES)[number];

export const OPERATIONS = [
  'CHARGE',
  'AUTHORIZE',
  'CAPTURE',
  'VOID',
  'REFUND',
  'CONFIRM',
  'CANCEL',
  'REVERSE',
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** What a payment begins with. Everything else follows a payment that exists. */
export type FirstOperation = 'CHARGE' | 'AUTHORIZE';
/**
 * CANCEL is sent to nobody: it stands in the place of a key, or for the request that put it there.
 * REVERSE is asked for by nobody: it gives back what a PSP executed after it had refused it.
 */
export type FollowUpOperation = Exclude<Operation, FirstOperation | 'CANCEL' | 'REVERSE'>;

export function isFirst(operation: Operation): operation is FirstOperation {
  return operation === 'CHARGE' || operation === 'AUTHORIZE';
}

export const ENTRY_STATES = [
  'SENDING',
  'SUCCEEDED',
  'DECLINED',
  'FAILED',
  'UNKNOWN',
  'PENDING',
  'IN_REVIEW',
] as const;
export type EntryState = (typeof ENTRY_STATES)[number];

/** How an entry's outcome became known. */
export const OUTCOME_SOURCES = ['SYNC', 'INQUIRY', 'WEBHOOK', 'OPERATOR', 'NOT_SENT'] as const;
export type OutcomeSource = (typeof OUTCOME_SOURCES)[number];

export interface Payment extends Money {
  readonly merchantId: string;
  readonly id: string;
  readonly transactionId: string | null;
  readonly status: PaymentStatus;
  readonly authorizedMinor: number;
  readonly capturedMinor: number;
  /** Captures that are being sent or are in doubt; nobody else may have that money. */
  readonly captureReservedMinor: number;
  readonly refundedMinor: number;
  readonly refundReservedMinor: number;
  /** True while a void is being sent or is in doubt. */
  readonly voidReserved: boolean;
  /** The adapter that the payment was made by, and the PSP's own id of the charge; null before it answered. */
  readonly psp: string | null;
  readonly pspReference: string | null;
  /** Until when the PSP keeps the authorised money, if it said so. */
  readonly authorizedUntil: Date | null;
  /** Where the buyer has to go, while the status is REQUIRES_ACTION. */
  readonly nextActionUrl: string | null;
  readonly paymentMethod: string;
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly version: number;
  readonly nextCheckAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** One money operation: written before the PSP is asked, kept for ever. */
export interface JournalEntry extends Money {
  readonly merchantId: string;
  readonly id: string;
  readonly paymentId: string;
  readonly idempotencyKey: string;
  readonly operation: Operation;
  /** The name of the adapter that it is sent by, on every attempt. */
  readonly psp: string;
  readonly fingerprintVersion: number;
  readonly fingerprint: Buffer;
  readonly state: EntryState;
  readonly outcomeSource: OutcomeSource | null;
  readonly attempt: number;
  readonly pspIdempotencyKey: string;
  /** How long the owner may still be at work, in ms; 0 if its lease has ended. */
  readonly leaseLeftMs: number;
  readonly pspReference: string | null;
  readonly declineCode: string | null;
  readonly softDecline: boolean | null;
  /** Why it failed or is in review; never text of a PSP's making. */
  readonly reason: string | null;
  /** The arguments of a follow-up as they came; of a first operation the payment has them. */
  readonly request: Readonly<Record<string, unknown>> | null;
  readonly nextCheckAt: Date | null;
  readonly createdAt: Date;
  readonly settledAt: Date | null;
}

const UNDER_WAY: ReadonlySet<PaymentStatus> = new Set([
  'PROCESSING',
  'REQUIRES_ACTION',
  'AUTHORIZED',
  'PARTIALLY_CAPTURED',
  'UNKNOWN',
  'IN_REVIEW',
  'NOT_SENT',
]);

/** True if the outcome is known and will not change by itself; a refund is a new entry. */
export function isTerminal(status: PaymentStatus): boolean {
  return !UNDER_WAY.has(status);
}
