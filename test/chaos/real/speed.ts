import { groupBy } from './group-by.ts';
import type { Evidence } from './records.ts';

/** How long something took, of so many. */
export interface Times {
  readonly count: number;
  /** In ms: the median, 99 %, and the longest. */
  readonly half: number;
  readonly most: number;
  readonly longest: number;
}

/** @param taken in ms, in any order */
export function timesOf(taken: readonly number[]): Times {
  const sorted = taken.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0);
  return { count: sorted.length, half: at(0.5), most: at(0.99), longest: at(1) };
}

/**
 * From the opening of an entry to the outcome that recovery found, of those that were not waiting for
 * their buyer: the doubt, the settling time, and whatever faults there were in between.
 */
export function recoveryTimes({ entries, moves }: Pick<Evidence, 'entries' | 'moves'>): Times {
  const states = groupBy(moves, ({ entryId }) => entryId);
  const waited = (id: string) => states.get(id)?.some(({ state }) => state === 'PENDING') ?? false;
  return timesOf(
    entries
      .filter(({ id, source }) => source === 'INQUIRY' && !waited(id))
      .map(({ createdAt, settledAt }) => (settledAt ?? createdAt) - createdAt),
  );
}
