import { answerOf, type Ended, isFinal } from './answer.ts';
import { type Conclusion, concludeSend } from './conclude.ts';
import type { Outcome } from './outcome.ts';
import {
  chargeOf,
  type Hold,
  type Journal,
  type NewPayment,
  type Opened,
  type PaymentReader,
  type Psp,
  type Recorded,
} from './ports.ts';

export interface CreatePaymentDeps {
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

/**
 * Charges once: a committed entry first, then the PSP, then the outcome.
 *
 * @throws NothingSent if the entry could not be written; the cause says why
 */
export async function createPayment(deps: CreatePaymentDeps, command: NewPayment): Promise<Ended> {
  const startedAt = deps.now();
  return proceed(deps, await open(deps.journal, command), command, startedAt);
}

/** What the journal has under the command's key, without doing anything. */
export async function lookUpPayment(
  reader: PaymentReader,
  command: NewPayment,
): Promise<Ended | undefined> {
  const found = await reader.entryByKey(command.merchantId, command.idempotencyKey);
  return found === undefined ? undefined : alreadyThere(found, command);
}

async function open(journal: Journal, command: NewPayment): Promise<Opened> {
  try {
    const opened = await journal.open(command);
    const again = opened.kind === 'exists' && mayRunAgain(opened, command);
    return again ? await journal.reopen(opened) : opened;
  } catch (cause) {
    throw new NothingSent('The journal entry could not be written.', { cause });
  }
}

async function proceed(
  deps: CreatePaymentDeps,
  opened: Opened,
  command: NewPayment,
  startedAt: number,
): Promise<Ended> {
  switch (opened.kind) {
    case 'opened':
      return send(deps, opened.hold, startedAt);
    case 'exists':
      return alreadyThere(opened, command);
    case 'transaction-id-taken':
      return transactionIdTaken(opened.paymentId);
  }
}

async function send(deps: CreatePaymentDeps, hold: Hold, startedAt: number): Promise<Ended> {
  const leaseLeftMs = deps.leaseMs - (deps.now() - startedAt);
  const outcome =
    leaseLeftMs < deps.pspTimeoutMs + SPARE_MS
      ? LEASE_SPENT
      : await deps.psp.charge(chargeOf(hold));
  const conclusion = concludeSend(hold.entry, outcome);
  return record(deps, hold, conclusion);
}

/**
 * An entry goes to review by way of UNKNOWN, so that states move only along the published graph.
 * Whatever hinders the writing, the PSP has been asked: the answer is "unknown", never an error.
 */
async function record(deps: CreatePaymentDeps, hold: Hold, conclusion: Conclusion): Promise<Ended> {
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
    return ended(await journal.settle({ ...hold, ...doubtful }, conclusion), true);
  } catch (error) {
    deps.onUnrecorded?.(error);
    return ended(unrecorded(hold), true);
  }
}

/** The PSP was asked, the outcome could not be written: recovery will find it out. */
function unrecorded({ entry, payment }: Hold): Recorded {
  return {
    entry: { ...entry, state: 'UNKNOWN' },
    payment: { ...payment, status: 'UNKNOWN' },
  };
}

/**
 * FAILED with source NOT_SENT is the only state from which the same request executes again, and by
 * the same PSP: another one would be asked about an entry that it never saw.
 */
function mayRunAgain({ entry }: Recorded, command: NewPayment): boolean {
  return (
    entry.outcomeSource === 'NOT_SENT' &&
    entry.psp === command.psp &&
    entry.fingerprint.equals(command.fingerprint.digest)
  );
}

function alreadyThere(recorded: Recorded, command: NewPayment): Ended {
  const { entry } = recorded;
  if (!entry.fingerprint.equals(command.fingerprint.digest)) {
    return { ...recorded, kind: 'mismatch' };
  }
  if (entry.state === 'SENDING' && entry.leaseLeftMs > 0) {
    return { kind: 'busy', retryAfterMs: entry.leaseLeftMs };
  }
  return ended(recorded, false);
}

function ended(recorded: Recorded, first: boolean, retryAfterMs?: number | null): Ended {
  const answer = answerOf(recorded, retryAfterMs);
  const released = answer.decision.kind === 'psp-unavailable';
  const kind = released ? 'released' : isFinal(answer.decision) ? 'done' : 'open';
  return { kind, answer, first, payment: released ? null : recorded.payment };
}

function transactionIdTaken(paymentId: string): Ended {
  const decision = { kind: 'transaction-id-taken', paymentId } as const;
  const firstSeenAt = new Date().toISOString();
  const answer = { paymentId: null, decision, attempt: 0, firstSeenAt, settledAt: null };
  return { kind: 'released', answer, first: true, payment: null };
}
