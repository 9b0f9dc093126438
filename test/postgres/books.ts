import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import type { Conclusion, Hold, Opened } from '../../src/payments/index.ts';
import { migrate } from '../../src/postgres/administration.ts';
import { Database, type JournalOptions, PostgresJournal } from '../../src/postgres/index.ts';
import { createDatabase } from '../support/database.ts';

export { newPayment } from '../support/new-payment.ts';

export const MIGRATIONS = 'drizzle';

/** Short where a test has to wait for it, and long where a busy machine must not matter. */
export const TIMES: JournalOptions = {
  leaseMs: 20_000,
  recoverAfterMs: 30_000,
  recoveryLeaseMs: 20_000,
  openBudgetMs: 10_000,
  settleBudgetMs: 10_000,
};

type DatabaseOptions = Partial<ConstructorParameters<typeof Database>[0]>;

/** A migrated database, and an administrator's connection that looks past the journal. */
export interface Books {
  readonly url: string;
  readonly sql: postgres.Sql;
  /** A journal over a pool of its own, as another process would have it; closed with the books. */
  journal(times?: Partial<JournalOptions>, options?: DatabaseOptions): PostgresJournal;
  database(options?: DatabaseOptions): Database;
  /** Makes every open entry due at once, and every lease end. */
  makeDue(): Promise<void>;
  close(): Promise<void>;
}

export async function openBooks(): Promise<Books> {
  const home = await createDatabase();
  await migrate(home.url, MIGRATIONS);
  return { ...booksAt(home.url, () => home.drop()) };
}

export function booksAt(url: string, drop: () => Promise<void>): Books {
  const sql = postgres(url, { max: 4, onnotice: () => {} });
  const databases: Database[] = [];
  const database: Books['database'] = (options) => {
    const opened = new Database({ url, poolMax: 5, statementMs: 8_000, ...options });
    databases.push(opened);
    return opened;
  };
  return {
    url,
    sql,
    database,
    journal: (times, options) => new PostgresJournal(database(options), { ...TIMES, ...times }),
    makeDue: async () => {
      await sql`
        update journal_entries set next_check_at = clock_timestamp(), lease_until = clock_timestamp()
        where state in ('SENDING', 'UNKNOWN', 'PENDING')`;
    },
    close: async () => {
      await Promise.all(databases.map((one) => one.close()));
      await sql.end({ timeout: 2 });
      await drop();
    },
  };
}

/** The hold of an entry that was just opened, or a failure that shows what came instead. */
export function holdOf(opened: Opened): Hold {
  if (opened.kind !== 'opened') throw new Error(`not opened: ${JSON.stringify(opened)}`);
  return opened.hold;
}

const NOTHING = {
  source: null,
  pspReference: null,
  declineCode: null,
  softDecline: null,
  reason: null,
  nextCheckMs: null,
  retryAfterMs: null,
} as const;

export const succeeded = (pspReference: string = `ch_${randomUUID()}`): Conclusion => ({
  ...NOTHING,
  state: 'SUCCEEDED',
  source: 'SYNC',
  pspReference,
});

export const DECLINED: Conclusion = {
  ...NOTHING,
  state: 'DECLINED',
  source: 'SYNC',
  declineCode: 'insufficient_funds',
  softDecline: true,
};

export const UNKNOWN: Conclusion = {
  ...NOTHING,
  state: 'UNKNOWN',
  reason: 'timeout',
  nextCheckMs: 2_000,
};

export const REJECTED: Conclusion = {
  ...NOTHING,
  state: 'FAILED',
  source: 'SYNC',
  reason: 'bad_request',
};

export const NOT_SENT: Conclusion = {
  ...NOTHING,
  state: 'FAILED',
  source: 'NOT_SENT',
  reason: 'refused',
};
