import { randomBytes } from 'node:crypto';
import type { Sql } from 'postgres';
import type { PaymentPageRequest } from '../../src/payments/index.ts';
import {
  Database,
  PostgresEvents,
  PostgresJournal,
  PostgresLedgerReader,
  PostgresPaymentReader,
} from '../../src/postgres/index.ts';
import { newPayment } from '../support/new-payment.ts';
import { DOUBTED_OF, KEY_OF } from './fill.ts';
import { median } from './statistics.ts';

/** A read of the product, and how long it took: a median in ms, or why there is none. */
export interface Read {
  readonly name: string;
  readonly ms: number | null;
  readonly error: string | null;
}

const TIMES = 21;
const DUE = 100;
/** As the server has it. */
const STATEMENT_MS = 2_000;
const REPORT_MS = 15_000;
const CALLERS = 64;

interface Wanted {
  readonly databaseUrl: string;
  readonly merchantId: string;
  readonly rows: number;
}

/** The product's own reads on its own statements, one at a time. */
export async function readAll({ databaseUrl, merchantId, rows }: Wanted, sql: Sql) {
  const database = new Database({ url: databaseUrl, poolMax: 8, statementMs: STATEMENT_MS });
  const reports = new Database({ url: databaseUrl, poolMax: 2, statementMs: REPORT_MS });
  const reader = new PostgresPaymentReader(database, STATEMENT_MS);
  const events = new PostgresEvents(database, { budgetMs: STATEMENT_MS, onNumbered: () => {} });
  const ledger = new PostgresLedgerReader(database, STATEMENT_MS, {
    database: reports,
    budgetMs: REPORT_MS,
  });
  const journal = journalOn(database);
  const page = (request: Partial<PaymentPageRequest>) => () =>
    reader.page(merchantId, { first: 20, after: undefined, ...request });
  const [middle] = await sql`
    select id from payments where merchant_id = ${merchantId}
      and transaction_id = ${`order-${Math.floor(rows / 2)}`}`;
  const reads: Readonly<Record<string, () => Promise<unknown>>> = {
    'payments, newest 20': page({}),
    'payments, 20 from the middle': page({ after: middle?.['id'] as string }),
    'payments, DECLINED': page({ filter: { status: ['DECLINED'] } }),
    'payments, USD above 1,000': page({ filter: { currency: 'USD', amountMin: 100_000 } }),
    'payments, by transaction id': page({ filter: { transactionId: 'order-77' } }),
    'payments, by metadata': page({ filter: { metadata: { order: 77 } } }),
    'paymentEvents, 100 from the middle': () => events.after(merchantId, Math.floor(rows / 2), 100),
    'numbering the events of what was just paid': () => events.number(),
    ledgerAccounts: () => ledger.balances(merchantId, null),
    'recovery, nothing due': () => journal.takeOver(DUE, 'simulator'),
  };
  const seen: Read[] = [];
  for (const [name, read] of Object.entries(reads)) seen.push(await timed(name, read));
  seen.push(await recovery(journal, sql, Math.min(DUE, Math.floor(rows / DOUBTED_OF))));
  await Promise.all([database.close(), reports.close()]);
  return seen;
}

/** A statement that exceeds the server's own limit has failed: its users would get no answer. */
async function timed(name: string, read: () => Promise<unknown>): Promise<Read> {
  const times: number[] = [];
  try {
    for (let turn = 0; turn < TIMES; turn += 1) {
      const startedAt = performance.now();
      await read();
      times.push(performance.now() - startedAt);
    }
  } catch (error) {
    return { name, ms: null, error: error instanceof Error ? error.message : String(error) };
  }
  return { name, ms: median(times), error: null };
}

/** Takes over as many as one run of recovery does, of entries in doubt that are due. */
async function recovery(journal: PostgresJournal, sql: Sql, due: number): Promise<Read> {
  const times: number[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    await sql`
      update journal_entries set next_check_at = now() - interval '1 second'
      where (merchant_id, id) in (
        select merchant_id, id from journal_entries where state = 'UNKNOWN' limit ${due})`;
    const startedAt = performance.now();
    const taken = await journal.takeOver(DUE, 'simulator');
    times.push(performance.now() - startedAt);
    if (taken.length !== due) throw new Error(`Recovery took over ${taken.length} of ${due}.`);
  }
  return { name: `recovery, takes over up to ${DUE}`, ms: median(times), error: null };
}

/** Requests with keys of old payments, whose answers the first door has forgotten. @returns a second */
export async function replayRate(
  { databaseUrl, merchantId, rows }: Wanted,
  sql: Sql,
  ms: number,
): Promise<number> {
  const numbers = Array.from({ length: 20_000 }, () => 1 + Math.floor(Math.random() * rows));
  const keys = (await sql.unsafe(KEY_OF, [numbers])).map((row) => row['key'] as string);
  const database = new Database({ url: databaseUrl, poolMax: 8, statementMs: STATEMENT_MS });
  const journal = journalOn(database);
  const startedAt = performance.now();
  let done = 0;
  const caller = async () => {
    while (performance.now() - startedAt < ms) {
      const found = await journal.open(again(merchantId, keys[done++ % keys.length] ?? ''));
      if (found.kind !== 'exists') throw new Error(`A replay was ${found.kind}.`);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const perSecond = (done * 1_000) / (performance.now() - startedAt);
  await database.close();
  return perSecond;
}

const again = (merchantId: string, idempotencyKey: string) =>
  newPayment({
    merchantId,
    idempotencyKey,
    fingerprint: { version: 1, digest: randomBytes(32) },
    psp: 'simulator',
  });

const journalOn = (database: Database) =>
  new PostgresJournal(database, {
    leaseMs: 60_000,
    recoverAfterMs: 120_000,
    recoveryLeaseMs: 3_600_000,
    openBudgetMs: 10_000,
    settleBudgetMs: 10_000,
  });
