import { randomUUID } from 'node:crypto';
import { parse, v5 as uuidV5 } from 'uuid';
import {
  decimal,
  exponentOf,
  type Hold,
  type JournalEntry,
  type NewPayment,
  type Recorded,
} from '../payments/index.ts';
import type { Row } from './connect.ts';
import { uuidV7 } from './ids.ts';

/** The namespace of PSP keys (RFC 9562 §5.5): changing it would forget every key in flight. */
const PSP_KEYS = parse('6f1f0d3e-4d0c-5b7e-9a58-1c7d9c1b2a40');

/** A payment that T1 is asked to write, with the ids made for it. */
export interface Draft extends NewPayment {
  readonly paymentId: string;
  readonly entryId: string;
  readonly ownerToken: string;
  readonly pspKey: string;
}

export function draftOf(payment: NewPayment): Draft {
  return { ...payment, ...newEntry(payment.merchantId), paymentId: uuidV7() };
}

/** The ids of an entry that is to be written. */
export function newEntry(merchantId: string) {
  const entryId = uuidV7();
  const pspKey = uuidV5(`${merchantId}/${entryId}`, PSP_KEYS);
  return { entryId, pspKey, ownerToken: randomUUID() };
}

export function openRow(draft: Draft, leaseMs: number, recoverAfterMs: number): Row {
  return {
    merchant_id: draft.merchantId,
    payment_id: draft.paymentId,
    entry_id: draft.entryId,
    idempotency_key: draft.idempotencyKey,
    operation: draft.operation ?? 'CHARGE',
    amount_minor: draft.amountMinor,
    amount: decimal(draft),
    currency: draft.currency,
    exponent: exponentOf(draft.currency),
    fingerprint_version: draft.fingerprint.version,
    fingerprint: `\\x${draft.fingerprint.digest.toString('hex')}`,
    owner_token: draft.ownerToken,
    psp: draft.psp,
    psp_idempotency_key: draft.pspKey,
    transaction_id: draft.transactionId,
    payment_method: draft.paymentMethod,
    description: draft.description,
    metadata: draft.metadata,
    lease_ms: leaseMs,
    recover_after_ms: recoverAfterMs,
  };
}

/** An entry that T1 is asked to write again, and the token of who asks. */
export interface Reopening {
  readonly recorded: Recorded;
  readonly ownerToken: string;
}

export function reopenRow(
  { recorded: { entry }, ownerToken }: Reopening,
  leaseMs: number,
  recoverAfterMs: number,
): Row {
  return {
    merchant_id: entry.merchantId,
    entry_id: entry.id,
    attempt: entry.attempt,
    owner_token: ownerToken,
    lease_ms: leaseMs,
    recover_after_ms: recoverAfterMs,
  };
}

type Written = Pick<
  JournalEntry,
  'operation' | 'amountMinor' | 'currency' | 'request' | 'createdAt'
>;
type Sent = Pick<
  Draft,
  'merchantId' | 'paymentId' | 'entryId' | 'idempotencyKey' | 'psp' | 'pspKey' | 'fingerprint'
>;

/** An entry as T1 has just written it: on its way, and nothing known of it. */
export function freshEntry(draft: Sent, written: Written): JournalEntry {
  return {
    merchantId: draft.merchantId,
    id: draft.entryId,
    paymentId: draft.paymentId,
    idempotencyKey: draft.idempotencyKey,
    operation: written.operation,
    amountMinor: written.amountMinor,
    currency: written.currency,
    request: written.request,
    createdAt: written.createdAt,
    psp: draft.psp,
    fingerprintVersion: draft.fingerprint.version,
    fingerprint: draft.fingerprint.digest,
    state: 'SENDING',
    outcomeSource: null,
    attempt: 1,
    pspIdempotencyKey: draft.pspKey,
    leaseLeftMs: 0,
    pspReference: null,
    declineCode: null,
    softDecline: null,
    reason: null,
    nextCheckAt: null,
    settledAt: null,
  };
}

/** The entry and payment as T1 wrote them: what was asked, and what the database added. */
export function newHold(draft: Draft, row: Row): Hold {
  const createdAt = row['created_at'] as Date;
  const { merchantId, amountMinor, currency, paymentId, paymentMethod } = draft;
  return {
    ownerToken: draft.ownerToken,
    entry: freshEntry(draft, {
      operation: draft.operation ?? 'CHARGE',
      amountMinor,
      currency,
      request: null,
      createdAt,
    }),
    payment: {
      merchantId,
      id: paymentId,
      transactionId: draft.transactionId,
      amountMinor,
      currency,
      status: 'PROCESSING',
      authorizedMinor: 0,
      capturedMinor: 0,
      captureReservedMinor: 0,
      refundedMinor: 0,
      refundReservedMinor: 0,
      voidReserved: false,
      psp: draft.psp,
      pspReference: null,
      authorizedUntil: null,
      nextActionUrl: null,
      paymentMethod,
      description: draft.description,
      metadata: row['metadata'] as Recorded['payment']['metadata'],
      version: 1,
      nextCheckAt: null,
      createdAt,
      updatedAt: createdAt,
    },
  };
}
