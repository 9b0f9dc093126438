import type postgres from 'postgres';
import { JournalUnavailable } from '../payments/index.ts';
import { Gate } from './gate.ts';
import { Pool } from './pool.ts';
import { StatementRefused, tellable } from './statement-refused.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly poolMax: number;
  /** The most one statement may take before its connection is suspected, in ms. */
  readonly statementMs: number;
  /** Told once for each pool that was replaced; it must not throw. */
  readonly onSuspicion?: (reason: string) => void;
}

export type Row = Readonly<Record<string, unknown>>;

/** SQLSTATEs (and classes) after which the same statement may simply be run again. */
const PASSING = /^(08|53|25006|40001|40P01|55P03|57014|57P0)/;
const PAUSE_MS = { first: 20, most: 500 } as const;
const MOST_WAITING = 20_000;
const MOST_LATE_MS = 500;
/**
 * The way to Postgres for everything that must not hang: each statement runs alone (no `begin`),
 * under a deadline, one at a time per connection; the time it waits for a connection does not count.
 * A statement that misses its deadline takes its whole pool with it, since a half-open connection
 * says nothing and every other one may be as dead.
 */
export class Database {
  readonly #options: DatabaseOptions;
  readonly #gate: Gate;
  #pool: Pool;
  #closed = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#gate = new Gate(options.poolMax, MOST_WAITING);
    this.#pool = new Pool(options.url, options.poolMax);
  }

  /**
   * Runs one statement, again and again after passing failures, until `budgetMs` is used up. Only
   * for statements that are guarded: a reply that was lost may have been a commit.
   *
   * @throws JournalUnavailable if the budget ends first; unless its cause is `NotRun`, what the
   * statement did is not known
   * @throws StatementRefused if running it again would be of no use
   */
  async run(text: string, parameters: readonly unknown[], budgetMs: number): Promise<Row[]> {
    const endsAt = performance.now() + budgetMs;
    const wholeMs = Math.min(this.#options.statementMs, budgetMs);
    // With less time than this a statement is not begun.
    const leastMs = wholeMs / 4;
    const leftMs = () => endsAt - performance.now();
    let failure: unknown;
    for (let pauseMs: number = PAUSE_MS.first; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS.most)) {
      await this.#gate.enter(leftMs() - leastMs).catch((notRun: unknown) => {
        throw unavailable(failure ?? notRun);
      });
      try {
        return await this.#attempt(text, parameters, Math.min(wholeMs, leftMs()), wholeMs);
      } catch (error) {
        failure = tellable(error);
        if (!isPassing(failure)) throw failure;
      } finally {
        this.#gate.leave();
      }
      if (this.#closed || leftMs() - pauseMs < leastMs) throw unavailable(failure);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pool.close();
  }

  async #attempt(
    text: string,
    parameters: readonly unknown[],
    ms: number,
    wholeMs: number,
  ): Promise<Row[]> {
    const pool = this.#pool;
    const answer = pool.sql.unsafe(text, parameters as postgres.ParameterOrJSON<never>[], {
      prepare: true,
    });
    const deadline = new Deadline(ms);
    try {
      return (await Promise.race([answer, deadline.missed])) as unknown as Row[];
    } catch (error) {
      // A statement that had little time says little about the connections.
      if (error instanceof DeadlineMissed && ms >= wholeMs / 2) this.#replace(pool);
      throw error;
    } finally {
      deadline.clear();
    }
  }

  #replace(suspect: Pool): void {
    if (this.#pool !== suspect || this.#closed) return;
    this.#pool = new Pool(this.#options.url, this.#options.poolMax);
    this.#options.onSuspicion?.('a statement missed its deadline');
    suspect.giveUp();
  }
}

class DeadlineMissed extends Error {
  override readonly name = 'DeadlineMissed';
}

/**
 * Rejects after `ms`. A timer that comes late says that this process was too busy to read: then the
 * reply may be here already, and gets as long again as the timer was late, up to `MOST_LATE_MS`.
 */
class Deadline {
  readonly missed: Promise<never>;
  #timer: NodeJS.Timeout | undefined;

  constructor(ms: number) {
    const dueAt = performance.now() + ms;
    this.missed = new Promise((_, reject) => {
      const miss = () => reject(new DeadlineMissed());
      const due = () => {
        const lateMs = performance.now() - dueAt;
        this.#timer = setTimeout(() => setImmediate(miss), Math.min(lateMs, MOST_LATE_MS));
      };
      this.#timer = setTimeout(due, Math.max(1, ms));
    });
    this.missed.catch(() => {});
  }

  clear(): void {
    clearTimeout(this.#timer);
  }
}

/** True unless the database itself refused the statement: then running it again is no use. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof StatementRefused)) return true;
  return PASSING.test(error.code);
}

function unavailable(cause: unknown): JournalUnavailable {
  return new JournalUnavailable('The database did not answer in time.', { cause });
}
