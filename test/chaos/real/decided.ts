import type { Heard } from './records.ts';

const FAILURES: ReadonlySet<string> = new Set([
  'PAYMENT_DECLINED',
  'PAYMENT_FAILED',
  'INTENT_CANCELLED',
]);
/** Statuses of a payment that has no outcome yet. */
const WAITING: ReadonlySet<string> = new Set(['PROCESSING', 'REQUIRES_ACTION']);

/**
 * What an answer decides for ever: done, or one of the final errors; undefined if it decides nothing
 * yet, or nothing about the key.
 */
export function decisionIn(heard: Heard): string | undefined {
  if (heard.kind !== 'answered' || heard.outcome === 'IN_DOUBT') return undefined;
  if (heard.error === null) return WAITING.has(heard.status ?? '') ? undefined : 'SUCCEEDED';
  if (!FAILURES.has(heard.error)) return undefined;
  return heard.declineCode === null ? heard.error : `${heard.error} ${heard.declineCode}`;
}

const PASSING: ReadonlySet<string> = new Set(['OUTCOME_UNKNOWN', 'PSP_UNAVAILABLE']);
const FINAL_REFUSALS: ReadonlySet<string> = new Set(['IDEMPOTENCY_KEY_REUSED', 'BAD_USER_INPUT']);

/** Whether the client has nothing more to ask under this key for now. */
export function isOver(heard: Heard): boolean {
  if (heard.kind === 'broken') return false;
  if (heard.kind === 'refused') return FINAL_REFUSALS.has(heard.code);
  if (decisionIn(heard) !== undefined) return true;
  if (heard.error === 'IN_REVIEW' || heard.status === 'IN_REVIEW') return true;
  if (heard.error === null && heard.status === 'REQUIRES_ACTION') return true;
  // What a payment does not allow now is refused, and uses up no key.
  return heard.outcome !== 'IN_DOUBT' && heard.error !== null && !PASSING.has(heard.error);
}
