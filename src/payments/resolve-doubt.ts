import { concludeDoubt, concludeFound } from './conclude.ts';
import { chargeOf, type Doubt, type Journal, type Psp } from './ports.ts';

export interface ResolveDeps {
  readonly journal: Journal;
  readonly psp: Psp;
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
  const doubts = await deps.journal.takeOver(limit);
  const report = {
    taken: doubts.length,
    settled: 0,
    resent: 0,
    stillOpen: 0,
    inReview: 0,
    lost: 0,
  };
  const fates = await Promise.all(doubts.map((doubt) => resolveDoubt(deps, doubt)));
  for (const { fate, resent } of fates) {
    report[fate] += 1;
    if (resent) report.resent += 1;
  }
  return report;
}

async function resolveDoubt(
  { journal, psp }: ResolveDeps,
  doubt: Doubt,
): Promise<{ fate: Fate; resent: boolean }> {
  const about = { ...doubt.entry, checks: doubt.checks, ageMs: doubt.ageMs };
  const step = concludeFound(about, await psp.find(doubt.entry.id), psp);
  const resent = step.kind === 'resend';
  const conclusion = resent
    ? concludeDoubt(about, await psp.charge(chargeOf(doubt)))
    : step.conclusion;
  try {
    const { moved, entry } = await journal.settle(doubt, conclusion);
    return { fate: moved ? fateOf(entry.state) : 'lost', resent };
  } catch {
    // The entry stays due: whoever takes it over next asks the PSP again.
    return { fate: 'lost', resent };
  }
}

function fateOf(state: string): Fate {
  if (state === 'IN_REVIEW') return 'inReview';
  return state === 'UNKNOWN' || state === 'PENDING' ? 'stillOpen' : 'settled';
}
