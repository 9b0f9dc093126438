import { answerOf, type Ended, isFinal, wasCancelled } from './answer.ts';
import { type Conclusion, concludeSend } from './conclude.ts';
import { sendTo } from './orders.ts';
import type { Outcome } from './outcome.ts';
import { isFirst } from './payment.ts';
import type { Hold, Journal, Psp, Recorded } from './ports.ts';

export interface SendDeps {
  readonly journal: Journal;
  readonly psp: Psp;
  /** Monotonic time in ms. */
  readonly now: () => number;
  /** How long an opened entry is ours, in ms. */
  readonly leaseMs: number;
  /** The most one PSP call may take, in ms. */
  readonly pspTimeoutMs: number;
  /** Told when a PSP answer could not be written at once; it must not throw. */
  readonly onUnrecorded?: (error: unknown) => void;
}

/** A send starts only with this much of the lease to spare beyond the PSP's deadline, in ms. */
const SPARE_MS = 1_000;
const LEASE_SPENT: Outcome = { kind: 'notSent', reason: 'lease spent', retryAfterMs: 1_000 };

/** The entry could not be written, so nothing was sent: the same request may be made again. */
export class NothingSent extends Error {
  override readonly name = 'NothingSent';
}

type Answered = Extract<Ended, { readonly answer: unknown }>;

/** A request's key and what it was asked with. */
export interface Asked {
  readonly fingerprint: { readonly digest: Buffer };
  readonly psp: string;
}

/** Asks the PSP for what the entry stands for and writes what came of it. */
export async function send(deps: SendDeps, hold: Hold, startedAt: number): Promise<Ended> {
  const leaseLeftMs = deps.leaseMs - (deps.now() - startedAt);
  const outcome =
    leaseLeftMs < deps.pspTimeoutMs + SPARE_MS ? LEASE_SPENT : await sendTo(deps.psp, hold);
  const conclusion = concludeSend(hold.entry, outcome);
  return record(deps, hold, conclusion);
}

/**
 * An entry goes to review by way of UNKNOWN, so that states move only along the published graph.
 * Whatever hinders the writing, the PSP has been asked: the answer is "unknown", never an error.
 */
export async function record(
  deps: Pick<SendDeps, 'journal' | 'onUnrecorded'>,
  hold: Hold,
  conclusion: Conclusion,
): Promise<Ended> {
  const { journal } = deps;
  try {
    if (conclusion.state !== 'IN_REVIEW') {
      return ended(await journal.settle(hold, conclusion), true, conclusion.retryAfterMs);
    }
    const doubtful = await journal.settle(hold, {
      ...conclusion,
      state: 'UNKNOWN',
      nextCheckMs: 0,
    });
    // Somebody else has moved it, a webhook perhaps: what stands there now is the answer.
    if (!doubtful.moved) return ended(doubtful, true);
    return ended(await journal.settle({ ...hold, ...doubtful }, conclusion), true);
  } catch (error) {
    deps.onUnrecorded?.(error);
    const answered = ended(unrecorded(hold), true);
    // Of a follow-up the payment as T1 left it is not known here: it is read again.
    return isFirst(hold.entry.operation) ? answered : { ...answered, payment: null };
  }
}

/** The PSP was asked, the outcome could not be written: recovery will find it out. */
function unrecorded({ entry, payment }: Hold): Recorded {
  return {
    entry: { ...entry, state: 'UNKNOWN' },
    payment: isFirst(entry.operation) ? { ...payment, status: 'UNKNOWN' } : payment,
  };
}

/**
 * FAILED with source NOT_SENT is the only state from which the same request executes again, and by
 * the same PSP: another one would be asked about an entry that it never saw.
 */
export function mayRunAgain({ entry }: Recorded, command: Asked): boolean {
  return (
    entry.outcomeSource === 'NOT_SENT' &&
    entry.psp === command.psp &&
    entry.fingerprint.equals(command.fingerprint.digest)
  );
}

/** What a request gets whose key the journal knows. */
export function alreadyThere(recorded: Recorded, command: Asked): Ended {
  const { entry } = recorded;
  // Whatever was asked first under a cancelled key, and however late: it comes to nothing.
  if (wasCancelled(entry)) return { ...ended(recorded, false), payment: null };
  if (!entry.fingerprint.equals(command.fingerprint.digest)) {
    return { ...recorded, kind: 'mismatch' };
  }
  if (entry.state === 'SENDING' && entry.leaseLeftMs > 0) {
    return { kind: 'busy', retryAfterMs: entry.leaseLeftMs };
  }
  return ended(recorded, false);
}

function ended(recorded: Recorded, first: boolean, retryAfterMs?: number | null): Answered {
  const answer = answerOf(recorded, retryAfterMs);
  const released = answer.decision.kind === 'psp-unavailable';
  const kind = released ? 'released' : isFinal(answer.decision) ? 'done' : 'open';
  return { kind, answer, first, payment: released ? null : recorded.payment };
}
