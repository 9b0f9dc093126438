import { type FollowUp, type Hold, isFirst, type JournalEntry } from '../payments/index.ts';
import type { Lane } from './batch.ts';
import type { Row } from './connect.ts';
import { freshEntry, type newEntry } from './open-rows.ts';
import { toPayment } from './rows.ts';

/** A follow-up that T1 is asked to write, with the ids made for it. */
export interface Draft extends FollowUp, ReturnType<typeof newEntry> {}

interface Times {
  readonly leaseMs: number;
  readonly recoverAfterMs: number;
}

/** Follow-ups of one payment may share a statement if they are alike and each says its amount. */
export function laneOf(draft: Draft): Lane {
  const { merchantId, paymentId, operation, amountMinor, currency, expectedVersion } = draft;
  const alone = amountMinor === null || expectedVersion !== null;
  return {
    name: `${merchantId} ${paymentId}`,
    kind: alone ? undefined : `${operation} ${currency} ${draft.psp}`,
  };
}

/** One row for each payment, with the entries that are asked for. */
export function followUpRows(drafts: readonly Draft[], times: Times): Row[] {
  const rows = new Map<string, Row & { readonly entries: Row[]; least_minor: number }>();
  for (const draft of drafts) {
    const lane = `${draft.merchantId} ${draft.paymentId}`;
    const row = rows.get(lane) ?? {
      merchant_id: draft.merchantId,
      payment_id: draft.paymentId,
      operation: draft.operation,
      currency: draft.currency,
      expected_version: draft.expectedVersion,
      psp: draft.psp,
      entries: [],
      least_minor: draft.amountMinor ?? 1,
    };
    row.least_minor = Math.min(row.least_minor, draft.amountMinor ?? 1);
    row.entries.push(entryRow(draft, times));
    rows.set(lane, row);
  }
  return [...rows.values()];
}

function entryRow(draft: Draft, { leaseMs, recoverAfterMs }: Times): Row {
  return {
    entry_id: draft.entryId,
    idempotency_key: draft.idempotencyKey,
    amount_minor: draft.amountMinor,
    fingerprint_version: draft.fingerprint.version,
    fingerprint: `\\x${draft.fingerprint.digest.toString('hex')}`,
    owner_token: draft.ownerToken,
    psp_idempotency_key: draft.pspKey,
    request: draft.request,
    lease_ms: leaseMs,
    recover_after_ms: recoverAfterMs,
  };
}

/** The entry and payment as T1 wrote them; the amount may be what remained. */
export function newHold(draft: Draft, row: Row): Hold {
  return {
    ownerToken: draft.ownerToken,
    payment: toPayment(row),
    entry: freshEntry(draft, {
      operation: draft.operation,
      amountMinor: Number(row['amount']),
      currency: row['currency'] as string,
      request: draft.request,
      createdAt: row['created_at'] as Date,
    }),
  };
}

/**
 * What an entry asks of its payment when it is tried again. The version that it expected was the
 * one before its first try, which has changed the payment itself.
 */
export function againOf(entry: JournalEntry) {
  const { operation } = entry;
  if (isFirst(operation) || operation === 'CANCEL' || operation === 'REVERSE') {
    throw new TypeError('This entry is no follow-up.');
  }
  return { ...entry, operation, expectedVersion: null };
}
