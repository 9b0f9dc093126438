import {
  type Conclusion,
  type Doubt,
  type Hold,
  isFirst,
  type Payment,
  type Recorded,
  statusAfter,
} from '../payments/index.ts';
import type { Row } from './connect.ts';
import { uuidV7 } from './ids.ts';
import { sumsOf, toRecorded } from './rows.ts';

/** What T2 is told of one entry. */
export interface Told {
  readonly hold: Hold;
  readonly conclusion: Conclusion;
}

export function settleRow({ hold, conclusion }: Told): Row {
  const { entry, ownerToken } = hold;
  const nextActionUrl = nextActionOf(hold.payment, conclusion);
  return {
    merchant_id: entry.merchantId,
    entry_id: entry.id,
    attempt: entry.attempt,
    owner_token: ownerToken,
    from_state: entry.state,
    state: conclusion.state,
    outcome_source: conclusion.source,
    psp_reference: conclusion.pspReference,
    decline_code: conclusion.declineCode,
    soft_decline: conclusion.softDecline,
    reason: conclusion.reason,
    next_check_ms: conclusion.nextCheckMs,
    next_action_url: nextActionUrl,
    authorized_until: conclusion.authorizedUntil?.toISOString() ?? null,
    payment_status: isFirst(entry.operation)
      ? statusAfter(entry.operation, conclusion.state, conclusion.source, nextActionUrl)
      : null,
    event_id: uuidV7(),
  };
}

/** A PSP that could not be asked has not said that nobody is waited for any more. */
function nextActionOf(payment: Payment, { state, nextActionUrl }: Conclusion): string | null {
  const isOpen = state === 'UNKNOWN' || state === 'PENDING';
  if (nextActionUrl === undefined && isOpen) return payment.nextActionUrl;
  return nextActionUrl ?? null;
}

/** The entry and payment as T2 left them. */
export function settled({ entry, payment }: Hold, conclusion: Conclusion, row: Row): Recorded {
  const { state, source, declineCode, softDecline, reason } = conclusion;
  const nextCheckAt = row['next_check_at'] as Date | null;
  return {
    entry: {
      ...entry,
      state,
      outcomeSource: source,
      declineCode,
      softDecline,
      reason,
      nextCheckAt,
      pspReference: row['psp_reference'] as string | null,
      settledAt: row['settled_at'] as Date | null,
    },
    payment: {
      ...payment,
      ...sumsOf(row),
      status: row['status'] as Payment['status'],
      psp: entry.psp,
      pspReference: row['payment_psp_reference'] as string | null,
      authorizedUntil: row['authorized_until'] as Date | null,
      nextActionUrl: row['next_action_url'] as string | null,
      nextCheckAt: row['payment_next_check_at'] as Date | null,
      version: row['version'] as number,
      updatedAt: row['updated_at'] as Date,
    },
  };
}

/** An entry as it was taken over; the payment's status is that of the entry by now. */
export function toDoubt(row: Row, ownerToken: string): Doubt {
  const { entry, payment } = toRecorded(row);
  const status = isFirst(entry.operation)
    ? statusAfter(entry.operation, entry.state, entry.outcomeSource, payment.nextActionUrl)
    : payment.status;
  const ageMs = Number(row['age_ms']);
  const checks = (row['checks'] as number) - 1;
  return { entry, payment: { ...payment, status }, ownerToken, ageMs, checks };
}
