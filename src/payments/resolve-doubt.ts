import { concludeDoubt, concludeFound } from './conclude.ts';
import { sendTo, soughtBy } from './orders.ts';
import type { JournalEntry } from './payment.ts';
import type { Doubt, Journal, Psp } from './ports.ts';

export interface ResolveDeps {
  readonly journal: Journal;
  readonly psp: Psp;
  /** Monotonic time in ms. */
  readonly now?: () => number;
  /** Told why an entry could not be resolved this time; it must not throw. */
  readonly onUnrecorded?: (error: unknown) => void;
  /** Told of each entry that came to its outcome, and how long after its send, in ms. */
  readonly onSettled?: (entry: JournalEntry, ageMs: number) => void;
}

export interface RecoveryReport {
  readonly taken: number;
  readonly settled: number;
  readonly resent: number;
  readonly stillOpen: number;
  readonly inReview: number;
  /** Entries that another owner moved first, or that could not be written. */
  readonly lost: number;
}

type Fate = 'settled' | 'stillOpen' | 'inReview' | 'lost';

/**
 * Takes over at most `limit` entries that are due, asks the PSP about each, and writes what it
 * says. Any number of recoverers may run at once: no two get the same entry.
 */
export async function recoverOnce(deps: ResolveDeps, limit: number): Promise<RecoveryReport> {
  const now = deps.now ?? (() => performance.now());
  const startedAt = now();
  const doubts = await deps.journal.takeOver(limit, deps.psp.name);
  const elapsedMs = () => now() - startedAt;
  const report = {
    taken: doubts.length,
    settled: 0,
    resent: 0,
    stillOpen: 0,
    inReview: 0,
    lost: 0,
  };
  const fates = await Promise.all(doubts.map((doubt) => resolveDoubt(deps, doubt, elapsedMs)));
  for (const { fate, resent } of fates) {
    report[fate] += 1;
    if (resent) report.resent += 1;
  }
  return report;
}

/** Asks the PSP about one entry that was taken over, and writes what it says. */
export async function resolveDoubt(
  deps: ResolveDeps,
  doubt: Doubt,
  elapsedMs: () => number,
): Promise<{ fate: Fate; resent: boolean }> {
  let resent = false;
  try {
    const found = await deps.psp.find(doubt.entry.id, soughtBy(doubt));
    const ageMs = doubt.ageMs + elapsedMs();
    const about = { ...doubt.entry, checks: doubt.checks, ageMs };
    const step = concludeFound(about, found, deps.psp);
    if (step.kind === 'resend' && !mayStillSend(doubt, elapsedMs()))
      return { fate: 'lost', resent };
    resent = step.kind === 'resend';
    const conclusion =
      step.kind === 'resend'
        ? concludeDoubt(about, await sendTo(deps.psp, doubt), deps.psp)
        : step.conclusion;
    const { moved, entry } = await deps.journal.settle(doubt, conclusion);
    const fate = moved ? fateOf(entry.state) : 'lost';
    if (fate === 'settled') deps.onSettled?.(entry, doubt.ageMs + elapsedMs());
    return { fate, resent };
  } catch (error) {
    // The entry stays due: whoever takes it over next asks the PSP again.
    deps.onUnrecorded?.(error);
    return { fate: 'lost', resent };
  }
}

/**
 * A recoverer that was held up may no longer own the entry, and its look-up may be older than the
 * PSP's memory: a send starts only in the first half of the lease, since the other half is for it.
 */
function mayStillSend({ entry }: Doubt, elapsedMs: number): boolean {
  return elapsedMs < entry.leaseLeftMs / 2;
}

function fateOf(state: string): Fate {
  if (state === 'IN_REVIEW') return 'inReview';
  return state === 'UNKNOWN' || state === 'PENDING' ? 'stillOpen' : 'settled';
}
