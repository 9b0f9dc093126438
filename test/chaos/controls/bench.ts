import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import type { Ended, Journal, Psp } from '../../../src/payments/index.ts';
import type { JournalOptions } from '../../../src/postgres/index.ts';
import { newPayment } from '../../support/new-payment.ts';
import { startTestSimulator } from '../../support/with-simulator.ts';
import { check, type Violation } from '../real/checker.ts';
import { gatherFrom } from '../real/evidence.ts';
import { groupBy } from '../real/group-by.ts';
import type { Event, Evidence, Heard } from '../real/records.ts';
import type { Build } from './build.ts';

/** A database, a PSP process, and clients whose history is kept. */
export interface Bench {
  readonly url: string;
  readonly sql: postgres.Sql;
  readonly psp: Psp;
  readonly simulator: Awaited<ReturnType<typeof startTestSimulator>>;
  /** A journal over a pool of its own, as another process would have it. */
  journal(times?: Partial<JournalOptions>): Journal;
  /** createPayment as a server runs it, and what its client is told. */
  pay(journal: Journal, key: string, psp?: Psp): Promise<Heard>;
  /** Asks the PSP about all that is open, until nothing is or the rounds are used up. */
  recover(journal: Journal, psp?: Psp): Promise<void>;
  /** What the checker of the runs on real processes says; calm: nothing was wrong with anything. */
  violations(calm: boolean): Promise<readonly Violation[]>;
  close(): Promise<void>;
}

const TIMES = {
  leaseMs: 20_000,
  recoverAfterMs: 30_000,
  recoveryLeaseMs: 20_000,
  openBudgetMs: 2_000,
  settleBudgetMs: 2_000,
};
/** The clients' own clock, whatever is done to that of the build. */
const now = Date.now;
const MERCHANT = randomUUID();
const ROUNDS = 20;
const MOST_EVENTS = 100_000;

export async function openBench({ product, migrations }: Build, url: string): Promise<Bench> {
  await product.migrate(url, migrations);
  const simulator = await startTestSimulator();
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  const psp = product.createSimulatorPsp({ url: simulator.url, timeoutMs: 5_000, settlingMs: 50 });
  const databases: { close(): Promise<void> }[] = [];
  const events: Event[] = [];
  const bench: Bench = {
    url,
    sql,
    psp,
    simulator,
    journal: (times) => {
      const database = new product.Database({ url, poolMax: 4, statementMs: 1_000 });
      databases.push(database);
      return new product.PostgresJournal(database, { ...TIMES, ...times });
    },
    pay: async (journal, key, through = psp) => {
      const asked = paymentUnder(key);
      const id = events.length;
      const input = { amount: { amountMinor: asked.amountMinor, currency: asked.currency } };
      const where = { merchantId: MERCHANT, key, field: 'createPayment', server: 'one' } as const;
      events.push({ kind: 'ask', id, at: now(), ...where, input });
      const deps = {
        journal,
        psp: through,
        now: () => performance.now(),
        leaseMs: 20_000,
        pspTimeoutMs: 5_000,
      };
      const heard = await product.createPayment(deps, asked).then(heardOf, (error: unknown) => ({
        kind: 'refused' as const,
        status: 500,
        code: error instanceof Error ? error.name : 'unknown',
      }));
      events.push({ kind: 'told', id, at: now(), heard });
      return heard;
    },
    recover: async (journal, through = psp) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        await sql`update journal_entries set next_check_at = clock_timestamp(),
          lease_until = clock_timestamp(), sent_at = clock_timestamp() - interval '1 second'
          where state in ('SENDING', 'UNKNOWN', 'PENDING')`;
        const { taken } = await product.recoverOnce({ journal, psp: through }, 1_000);
        if (taken === 0) return;
      }
    },
    violations: async (calm) => {
      const reads = await readLine(product, url);
      const evidence = { ...(await gatherFrom(sql, simulator, events, now())), reads };
      const { violations } = check(evidence);
      return [...violations, ...executedTwice(evidence), ...(calm ? refusedInCalm(events) : [])];
    },
    close: async () => {
      await Promise.all(databases.map((one) => one.close()));
      await (psp as Psp & { close(): Promise<void> }).close();
      await sql.end({ timeout: 2 });
      await simulator.stop();
    },
  };
  return bench;
}

/** What a reader of the merchant's events gets, once all of them have their places. */
async function readLine(product: Build['product'], url: string): Promise<Evidence['reads']> {
  const database = new product.Database({ url, poolMax: 1, statementMs: 2_000 });
  const outbox = new product.PostgresEvents(database, { budgetMs: 5_000, onNumbered: () => {} });
  try {
    await outbox.number();
    return await outbox.after(MERCHANT, 0, MOST_EVENTS);
  } finally {
    await database.close();
  }
}

/** One execution for each key of a merchant, whatever entries there are. */
function executedTwice({ entries, executions }: Evidence): Violation[] {
  const executed = new Set(executions.map(({ reference }) => reference));
  const intents = groupBy(
    entries.filter(({ id }) => executed.has(id)),
    ({ merchantId, key }) => `${merchantId} ${key}`,
  );
  return [...intents].flatMap(([intent, { length }]) =>
    length > 1 ? [{ promise: 'P1', what: `${length} executions of ${intent}` }] : [],
  );
}

/** With nothing wrong anywhere every request gets its answer, or is told to come back. */
function refusedInCalm(events: readonly Event[]): Violation[] {
  return events.flatMap((event) =>
    event.kind === 'told' && event.heard.kind === 'refused' && event.heard.code !== 'BUSY'
      ? [{ promise: 'P18', what: `refused with ${event.heard.code}, and nothing was wrong` }]
      : [],
  );
}

const paymentUnder = (idempotencyKey: string) =>
  newPayment({ merchantId: MERCHANT, idempotencyKey, psp: 'simulator' });

function heardOf(ended: Ended): Heard {
  if (ended.kind === 'busy') return { kind: 'refused', status: 409, code: 'BUSY' };
  if (ended.kind === 'mismatch') {
    return { kind: 'refused', status: 422, code: 'IDEMPOTENCY_KEY_REUSED' };
  }
  const { decision, paymentId } = ended.answer;
  const error = ERRORS[decision.kind] ?? null;
  const outcome = ended.kind === 'open' ? 'IN_DOUBT' : ended.first ? 'EXECUTED' : 'REPLAYED';
  const declineCode = decision.kind === 'declined' ? decision.declineCode : null;
  const status = ended.payment?.status ?? null;
  return { kind: 'answered', outcome, error, declineCode, paymentId, status };
}

const ERRORS: Readonly<Record<string, string>> = {
  declined: 'PAYMENT_DECLINED',
  failed: 'PAYMENT_FAILED',
  cancelled: 'INTENT_CANCELLED',
  unknown: 'OUTCOME_UNKNOWN',
  pending: 'OUTCOME_UNKNOWN',
  'psp-unavailable': 'PSP_UNAVAILABLE',
};
