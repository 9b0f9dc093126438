import postgres from 'postgres';
import { JournalUnavailable } from '../payments/index.ts';

export interface DatabaseOptions {
  readonly url: string;
  readonly poolMax: number;
  /** The most one statement may take before its connection is suspected, in ms. */
  readonly statementMs: number;
  /** Told once for each pool that was replaced; it must not throw. */
  readonly onSuspicion?: (reason: string) => void;
}

export type Row = Readonly<Record<string, unknown>>;

/** SQLSTATEs after which the same statement may simply be run again. */
const PASSING = new Set(['40001', '40P01', '53300', '55P03', '57014', '57P01', '57P02', '57P03']);
const PAUSE_MS = { first: 20, most: 500 } as const;
const CONNECT_TIMEOUT_S = 2;
/**
 * Every statement here finds its rows by an index. A plan made while the tables are nearly empty would
 * read them whole, and a prepared statement keeps its plan when they are large.
 */
const BY_INDEX = { enable_seqscan: 'off', enable_hashjoin: 'off', enable_mergejoin: 'off' };
const MOST_LATE_MS = 500;
/** An option that postgres.js takes and its types leave out. */
const ONE_AT_A_TIME: object = { max_pipeline: 1 };

/**
 * The way to Postgres for everything that must not hang: each statement runs alone (no `begin`),
 * under a deadline, one at a time per connection. A statement that misses its deadline takes its
 * whole pool with it, since a half-open connection says nothing and every other one may be as dead.
 */
export class Database {
  readonly #options: DatabaseOptions;
  #pool: postgres.Sql;
  #closed = false;

  constructor(options: DatabaseOptions) {
    this.#options = options;
    this.#pool = this.#newPool();
  }

  /**
   * Runs one statement, again and again after passing failures, until `budgetMs` is used up. Only
   * for statements that are guarded: a reply that was lost may have been a commit.
   *
   * @throws JournalUnavailable if the budget ends first; what the statement did is then not known
   * @throws PostgresError if the database refuses the statement itself
   */
  async run(text: string, parameters: readonly unknown[], budgetMs: number): Promise<Row[]> {
    const endsAt = performance.now() + budgetMs;
    for (let pauseMs: number = PAUSE_MS.first; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MS.most)) {
      const leftMs = endsAt - performance.now();
      try {
        return await this.#attempt(text, parameters, Math.min(this.#options.statementMs, leftMs));
      } catch (error) {
        if (!isPassing(error)) throw error;
        if (this.#closed || performance.now() + pauseMs >= endsAt) {
          throw new JournalUnavailable('The database did not answer in time.', { cause: error });
        }
      }
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#pool.end({ timeout: 2 });
  }

  async #attempt(text: string, parameters: readonly unknown[], ms: number): Promise<Row[]> {
    const pool = this.#pool;
    const answer = pool.unsafe(text, parameters as postgres.ParameterOrJSON<never>[], {
      prepare: true,
    });
    const deadline = new Deadline(ms);
    try {
      return (await Promise.race([answer, deadline.missed])) as unknown as Row[];
    } catch (error) {
      if (error instanceof DeadlineMissed) this.#replace(pool);
      throw error;
    } finally {
      deadline.clear();
    }
  }

  #replace(suspect: postgres.Sql): void {
    if (this.#pool !== suspect || this.#closed) return;
    this.#pool = this.#newPool();
    this.#options.onSuspicion?.('a statement missed its deadline');
    suspect.end({ timeout: 0 }).catch(() => {});
  }

  #newPool(): postgres.Sql {
    return postgres(this.#options.url, {
      max: this.#options.poolMax,
      ...ONE_AT_A_TIME,
      prepare: true,
      fetch_types: false,
      connect_timeout: CONNECT_TIMEOUT_S,
      idle_timeout: 0,
      max_lifetime: null,
      backoff: (attempt) => Math.min(0.05 * 2 ** attempt, 1),
      onnotice: () => {},
      connection: { application_name: 'semel', ...BY_INDEX },
    });
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
  if (!(error instanceof postgres.PostgresError)) return true;
  return PASSING.has(error.code) || error.code.startsWith('08');
}
