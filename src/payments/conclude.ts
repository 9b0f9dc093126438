import type { Money } from './money.ts';
import type { Found, Outcome } from './outcome.ts';
import type { EntryState, FirstOperation, OutcomeSource, PaymentStatus } from './payment.ts';

/** What T2 writes: the whole of what became known of one entry. */
export interface Conclusion {
  readonly state: Exclude<EntryState, 'SENDING'>;
  readonly source: OutcomeSource | null;
  readonly pspReference: string | null;
  readonly declineCode: string | null;
  readonly softDecline: boolean | null;
  readonly reason: string | null;
  /** Where the buyer has to go, while the state is PENDING or UNKNOWN; left out: as was known before. */
  readonly nextActionUrl?: string | null;
  /** Until when the PSP keeps what it has authorised. */
  readonly authorizedUntil?: Date | null;
  /** When recovery asks again, in ms from now; null if there is nothing to ask. */
  readonly nextCheckMs: number | null;
  /** When the caller may try the same key again, in ms; only with source NOT_SENT. */
  readonly retryAfterMs: number | null;
}

/** What recovery does with an entry in doubt. */
export type Step =
  | { readonly kind: 'settle'; readonly conclusion: Conclusion }
  /** Ask for the same charge again under the same PSP key. */
  | { readonly kind: 'resend' };

/** When the PSP is asked again, in ms after the last time it was asked. */
const LADDER_MS = [2_000, 10_000, 60_000, 300_000, 1_800_000] as const;

export function nextCheckMs(checks: number): number {
  return LADDER_MS[Math.min(checks, LADDER_MS.length - 1)] ?? 1_800_000;
}

const NOTHING: Omit<Conclusion, 'state'> = {
  source: null,
  pspReference: null,
  declineCode: null,
  softDecline: null,
  reason: null,
  nextCheckMs: null,
  retryAfterMs: null,
};

/** What the answer to an entry's first send means. */
export function concludeSend(asked: Money, outcome: Outcome): Conclusion {
  if (outcome.kind === 'notSent') {
    const { reason, retryAfterMs } = outcome;
    return { ...NOTHING, state: 'FAILED', source: 'NOT_SENT', reason, retryAfterMs };
  }
  return concludeAnswer(asked, outcome, 'SYNC', 'UNKNOWN', nextCheckMs(0));
}

/**
 * What the answer to a reversal's first send means. It has no caller who could ask again: what was not
 * sent stays open, and recovery sends it.
 */
export function concludeReversal(asked: Money, outcome: Outcome): Conclusion {
  return outcome.kind === 'notSent'
    ? undecided('UNKNOWN', outcome.reason, nextCheckMs(0))
    : concludeSend(asked, outcome);
}

interface DoubtfulEntry extends Money {
  readonly state: EntryState;
  readonly checks: number;
  readonly ageMs: number;
}

interface PspLimits {
  readonly keyWindowMs: number;
  readonly settlingMs: number;
  readonly lookupIsFinal?: boolean;
  readonly askAgainMs: number;
}

/**
 * What the PSP's books mean for an entry in doubt. Nothing found is not final: the look-up may lag,
 * and a send may still be on its way. A resend is safe only while the PSP surely remembers the key.
 */
export function concludeFound(doubt: DoubtfulEntry, found: Found, psp: PspLimits): Step {
  if (found.kind === 'found') {
    return { kind: 'settle', conclusion: concludeDoubt(doubt, found.outcome, psp) };
  }
  if (found.kind === 'unreachable') return stay(doubt, found.reason, soon(doubt, psp));
  const settlesInMs = Math.ceil(psp.settlingMs - doubt.ageMs);
  if (settlesInMs > 0) {
    return stay(doubt, 'not in the books yet', Math.min(settlesInMs, soon(doubt, psp)));
  }
  if (doubt.ageMs < psp.keyWindowMs) return { kind: 'resend' };
  if (psp.lookupIsFinal === true) {
    const reason = 'not in the books, and nothing is late there';
    const conclusion = { ...NOTHING, state: 'FAILED', source: 'INQUIRY', reason } as const;
    return { kind: 'settle', conclusion };
  }
  const reason = 'not in the books and past the key window';
  return {
    kind: 'settle',
    conclusion: { ...NOTHING, state: 'IN_REVIEW', source: 'INQUIRY', reason },
  };
}

/**
 * What an answer means for an entry that may have been sent before: that this send did nothing says
 * nothing about the earlier ones.
 */
export function concludeDoubt(
  doubt: DoubtfulEntry,
  outcome: Outcome,
  psp: Pick<PspLimits, 'askAgainMs'>,
): Conclusion {
  const open = openState(doubt);
  const waitMs = outcome.kind === 'pending' ? nextCheckMs(doubt.checks) : soon(doubt, psp);
  if (outcome.kind === 'notSent') return undecided(open, outcome.reason, waitMs);
  if (outcome.kind === 'rejected') return undecided(open, outcome.code, waitMs);
  return concludeAnswer(doubt, outcome, 'INQUIRY', open, waitMs);
}

/** What a PSP's own word of an outcome means for the entry that it is about, however it stands. */
export function concludeEvent(
  asked: Money,
  outcome: Extract<Outcome, { kind: 'succeeded' | 'declined' }>,
): Conclusion {
  return concludeAnswer(asked, outcome, 'WEBHOOK', 'UNKNOWN', nextCheckMs(0));
}

/** The PSP names an execution that another payment has booked already: a person must look at it. */
export function concludeTakenReference(
  state: EntryState,
  { source }: Pick<Conclusion, 'source'>,
): Conclusion {
  const reason = 'the reference of another payment';
  // By way of UNKNOWN, so that states move only along the published graph.
  return state === 'SENDING'
    ? { ...NOTHING, state: 'UNKNOWN', reason, nextCheckMs: 0 }
    : { ...NOTHING, state: 'IN_REVIEW', source, reason };
}

const openState = ({ state }: DoubtfulEntry): 'UNKNOWN' | 'PENDING' =>
  state === 'PENDING' ? state : 'UNKNOWN';

/** When to ask again a PSP that has not said how it stands, in ms: nobody tells us that it is well again. */
function soon({ checks }: DoubtfulEntry, psp: Pick<PspLimits, 'askAgainMs'>): number {
  return Math.min(nextCheckMs(checks), psp.askAgainMs);
}

function stay(doubt: DoubtfulEntry, reason: string, waitMs: number): Step {
  return { kind: 'settle', conclusion: undecided(openState(doubt), reason, waitMs) };
}

function undecided(
  state: 'UNKNOWN' | 'PENDING',
  reason: string | null,
  waitMs: number,
): Conclusion {
  return { ...NOTHING, state, reason, nextCheckMs: waitMs };
}

function concludeAnswer(
  asked: Money,
  outcome: Exclude<Outcome, { kind: 'notSent' }>,
  source: OutcomeSource,
  open: 'UNKNOWN' | 'PENDING',
  waitMs: number,
): Conclusion {
  switch (outcome.kind) {
    case 'succeeded': {
      const { pspReference } = outcome;
      const agrees =
        outcome.amountMinor === asked.amountMinor && outcome.currency === asked.currency;
      return agrees
        ? {
            ...NOTHING,
            state: 'SUCCEEDED',
            source,
            pspReference,
            authorizedUntil: outcome.authorizedUntil ?? null,
          }
        : { ...NOTHING, state: 'IN_REVIEW', source, pspReference, reason: 'amount mismatch' };
    }
    case 'declined': {
      const { pspReference, declineCode, soft } = outcome;
      return {
        ...NOTHING,
        state: 'DECLINED',
        source,
        pspReference,
        declineCode,
        softDecline: soft,
      };
    }
    case 'rejected':
      return { ...NOTHING, state: 'FAILED', source, reason: outcome.code };
    case 'pending': {
      const state = source === 'SYNC' ? 'PENDING' : open;
      const { pspReference, nextActionUrl = null } = outcome;
      return { ...undecided(state, null, waitMs), pspReference, nextActionUrl };
    }
    case 'unknown':
      return undecided(open, outcome.reason, waitMs);
  }
}

/** The payment's status after its first operation came to this state. */
export function statusAfter(
  operation: FirstOperation,
  state: EntryState,
  source: OutcomeSource | null,
  nextActionUrl: string | null = null,
): PaymentStatus {
  switch (state) {
    case 'SENDING':
      return 'PROCESSING';
    case 'PENDING':
      return nextActionUrl === null ? 'PROCESSING' : 'REQUIRES_ACTION';
    case 'SUCCEEDED':
      return operation === 'AUTHORIZE' ? 'AUTHORIZED' : 'CAPTURED';
    case 'FAILED':
      return source === 'NOT_SENT' ? 'NOT_SENT' : 'FAILED';
    case 'UNKNOWN':
      // By a look-up: the answer that said so was lost, and the buyer is waited for all the same.
      return nextActionUrl === null ? state : 'REQUIRES_ACTION';
    case 'DECLINED':
    case 'IN_REVIEW':
      return state;
  }
}
