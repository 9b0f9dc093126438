import type { Refusal } from './allowed.ts';
import { isFirst, type JournalEntry, type Payment } from './payment.ts';
import type { Recorded } from './ports.ts';

/** What was decided for an intent. Once it is final it is the same in every answer. */
export type Decision =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'declined'; readonly declineCode: string; readonly soft: boolean }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'unknown' | 'pending'; readonly nextCheckAt: string | null }
  | { readonly kind: 'in-review' }
  | { readonly kind: 'psp-unavailable'; readonly retryAfterMs: number }
  | { readonly kind: 'transaction-id-taken'; readonly paymentId: string }
  | { readonly kind: 'cancelled' }
  | Refusal;

/** What is kept for replays: ids and the decision, as plain JSON. The payment is read live. */
export interface PaymentAnswer {
  readonly paymentId: string | null;
  readonly decision: Decision;
  readonly attempt: number;
  /** ISO 8601 times by the database's clock. */
  readonly firstSeenAt: string;
  readonly settledAt: string | null;
}

/** Nobody's time is worth less than this: the hint where the PSP gave none, in ms. */
const RETRY_AFTER_MS = 1_000;

/** The answer as the journal has it; first answers and replays are both made here. */
export function answerOf(
  { entry, payment }: Recorded,
  retryAfterMs?: number | null,
): PaymentAnswer {
  const decision = decisionOf({ entry, payment }, retryAfterMs ?? RETRY_AFTER_MS);
  return {
    // A payment that was never sent is shown to nobody.
    paymentId: isShown(decision, entry) ? payment.id : null,
    decision,
    attempt: entry.attempt,
    firstSeenAt: entry.createdAt.toISOString(),
    settledAt: entry.settledAt?.toISOString() ?? null,
  };
}

function decisionOf({ entry, payment }: Recorded, retryAfterMs: number): Decision {
  switch (entry.state) {
    case 'SUCCEEDED':
      if (wasCancelled(entry)) return { kind: 'cancelled' };
      return { kind: 'succeeded' };
    case 'DECLINED':
      return {
        kind: 'declined',
        declineCode: entry.declineCode ?? 'generic_decline',
        soft: entry.softDecline ?? false,
      };
    case 'FAILED':
      if (entry.outcomeSource === 'NOT_SENT') return { kind: 'psp-unavailable', retryAfterMs };
      if (wasCancelled(entry)) return { kind: 'cancelled' };
      return { kind: 'failed', reason: entry.reason ?? 'rejected' };
    case 'IN_REVIEW':
      return { kind: 'in-review' };
    case 'PENDING':
      return { kind: 'pending', nextCheckAt: isoOrNull(entry.nextCheckAt) };
    case 'UNKNOWN':
      if (isFirst(entry.operation) && payment.status === 'REQUIRES_ACTION') {
        return { kind: 'pending', nextCheckAt: isoOrNull(entry.nextCheckAt) };
      }
      return { kind: 'unknown', nextCheckAt: isoOrNull(entry.nextCheckAt) };
    case 'SENDING':
      return { kind: 'unknown', nextCheckAt: isoOrNull(entry.nextCheckAt) };
  }
}

/** True of an entry that stands in a cancelled key's place, or was closed before it was ever sent. */
export function wasCancelled(entry: JournalEntry): boolean {
  if (entry.operation === 'CANCEL') return entry.request === null;
  return entry.outcomeSource === 'OPERATOR' && entry.reason === 'cancelled';
}

function isShown({ kind }: Decision, { operation }: JournalEntry): boolean {
  return kind !== 'cancelled' && !(kind === 'psp-unavailable' && isFirst(operation));
}

/** True if the decision can never change again. */
export function isFinal({ kind }: Decision): boolean {
  return kind === 'succeeded' || kind === 'declined' || kind === 'failed' || kind === 'cancelled';
}

function isoOrNull(date: Date | null): string | null {
  return date?.toISOString() ?? null;
}

/** How a money operation ended, in the words of this room. */
export type Ended =
  | {
      readonly kind: 'done' | 'open' | 'released';
      readonly answer: PaymentAnswer;
      /** False if the journal had it already. */
      readonly first: boolean;
      /** The payment as just written, so that nobody has to read it again. */
      readonly payment: Payment | null;
    }
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  | ({ readonly kind: 'mismatch' } & Recorded);
