import type { JournalEntry, Payment, Recorded } from '../payments/index.ts';
import type { Row } from './connect.ts';

/** The columns that `toPayment` reads, of the table aliased `p`. */
export const PAYMENT_COLUMNS = `
  p.merchant_id, p.id as payment_id, p.transaction_id, p.amount_minor as payment_amount_minor,
  p.currency, p.status, p.authorized_minor, p.captured_minor, p.capture_reserved_minor, p.refunded_minor,
  p.refund_reserved_minor, p.void_reserved, p.psp as payment_psp,
  p.psp_reference as payment_psp_reference, p.authorized_until, p.next_action_url, p.payment_method,
  p.description, p.metadata, p.version, p.next_check_at as payment_next_check_at,
  p.created_at as payment_created_at, p.updated_at`;

/** The columns that `toEntry` reads, of the table aliased `e`. */
export const ENTRY_COLUMNS = `
  e.merchant_id, e.id as entry_id, e.payment_id, e.idempotency_key, e.operation, e.amount_minor,
  e.currency, e.psp, e.fingerprint_version, e.fingerprint, e.state, e.outcome_source, e.attempt,
  e.owner_token, e.psp_idempotency_key, e.psp_reference, e.decline_code, e.soft_decline, e.reason,
  e.request,  e.next_check_at, e.created_at, e.settled_at,
  least(2147483647, greatest(0, extract(epoch from e.lease_until - clock_timestamp()) * 1000))::integer
    as lease_left_ms`;

export function toPayment(row: Row): Payment {
  return {
    merchantId: row['merchant_id'] as string,
    id: row['payment_id'] as string,
    transactionId: row['transaction_id'] as string | null,
    amountMinor: Number(row['payment_amount_minor']),
    currency: row['currency'] as string,
    status: row['status'] as Payment['status'],
    ...sumsOf(row),
    psp: row['payment_psp'] as string | null,
    pspReference: row['payment_psp_reference'] as string | null,
    authorizedUntil: row['authorized_until'] as Date | null,
    nextActionUrl: row['next_action_url'] as string | null,
    paymentMethod: row['payment_method'] as string,
    description: row['description'] as string | null,
    metadata: row['metadata'] as Payment['metadata'],
    version: row['version'] as number,
    nextCheckAt: row['payment_next_check_at'] as Date | null,
    createdAt: row['payment_created_at'] as Date,
    updatedAt: row['updated_at'] as Date,
  };
}

/** What of a payment changes with its operations. */
export function sumsOf(row: Row) {
  return {
    authorizedMinor: Number(row['authorized_minor']),
    capturedMinor: Number(row['captured_minor']),
    captureReservedMinor: Number(row['capture_reserved_minor']),
    refundedMinor: Number(row['refunded_minor']),
    refundReservedMinor: Number(row['refund_reserved_minor']),
    voidReserved: row['void_reserved'] as boolean,
  };
}

export function toEntry(row: Row): JournalEntry {
  return {
    merchantId: row['merchant_id'] as string,
    id: row['entry_id'] as string,
    paymentId: row['payment_id'] as string,
    idempotencyKey: row['idempotency_key'] as string,
    operation: row['operation'] as JournalEntry['operation'],
    amountMinor: Number(row['amount_minor']),
    currency: row['currency'] as string,
    psp: row['psp'] as string,
    fingerprintVersion: row['fingerprint_version'] as number,
    fingerprint: row['fingerprint'] as Buffer,
    state: row['state'] as JournalEntry['state'],
    outcomeSource: row['outcome_source'] as JournalEntry['outcomeSource'],
    attempt: row['attempt'] as number,
    pspIdempotencyKey: row['psp_idempotency_key'] as string,
    leaseLeftMs: row['lease_left_ms'] as number,
    pspReference: row['psp_reference'] as string | null,
    declineCode: row['decline_code'] as string | null,
    softDecline: row['soft_decline'] as boolean | null,
    reason: row['reason'] as string | null,
    request: row['request'] as JournalEntry['request'],
    nextCheckAt: row['next_check_at'] as Date | null,
    createdAt: row['created_at'] as Date,
    settledAt: row['settled_at'] as Date | null,
  };
}

export function toRecorded(row: Row): Recorded {
  return { entry: toEntry(row), payment: toPayment(row) };
}
