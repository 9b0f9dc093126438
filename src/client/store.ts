import type { IntentRecord } from './record.ts';

export type Durability = 'durable' | 'tab' | 'memory';

/**
 * Where intents are written down. `swap` carries the promise: it is one atomic step, so two tabs
 * cannot both mint a key. `exclusive` only saves them from asking the server twice.
 *
 * A place is the operation's name and the scope. Every method may throw (see `onFailure`).
 */
export interface IntentStore {
  /** What a record outlives: everything, its tab's reloads, or nothing. */
  readonly durability: Durability;
  /** From this age on a key is looked up before it is sent again; 23 h if left out. */
  readonly maxAgeMs?: number | undefined;
  /**
   * What a client does when the store throws: go on in memory and say so (the default, for pages),
   * or refuse to send (for jobs, which would forget their keys with the process).
   */
  readonly onFailure?: 'memory' | 'refuse';
  read(place: string): Promise<IntentRecord | undefined>;
  /** Writes `next` if `expected` is what is there. @returns whether it was */
  swap(
    place: string,
    expected: IntentRecord | undefined,
    next: IntentRecord | undefined,
  ): Promise<boolean>;
  /** Runs `work` while nobody else runs work at this place. A crash frees the place. */
  exclusive<T>(place: string, work: () => Promise<T>): Promise<T>;
  /** Calls back after changes of the place, those of other tabs included where that is possible. */
  watch(place: string, changed: (now: IntentRecord | undefined) => void): () => void;
  /** All that is written down. */
  list(): Promise<readonly (readonly [place: string, record: IntentRecord])[]>;
}

/** 23 hours: below the 24 h for which a server has to keep its answers. */
export const MAX_AGE_MS = 82_800_000;
