import { type ExecutionResult, graphql } from 'graphql';
import { buildSchema, Context, type Services } from '../../src/graphql/index.ts';
import { MemoryStore } from '../../src/idempotency/index.ts';
import { migrationsFolder } from '../../src/main/database.ts';
import type { Outcome, Psp } from '../../src/payments/index.ts';
import { Keys, migrate } from '../../src/postgres/administration.ts';
import {
  Database,
  PostgresCancels,
  PostgresEndpoints,
  PostgresEvents,
  PostgresFollowUps,
  PostgresJournal,
  PostgresLedgerReader,
  PostgresPaymentReader,
} from '../../src/postgres/index.ts';
import { Feed, startNumbering } from '../../src/workers/index.ts';
import { createDatabase } from './database.ts';

/** A database that counts the statements it is asked to run. */
export class CountingDatabase extends Database {
  statements = 0;

  override run(...call: Parameters<Database['run']>) {
    this.statements += 1;
    return super.run(...call);
  }
}

/** A PSP that does what it is asked, unless the payment method's token says otherwise. */
function willingPsp(): Psp & { readonly asked: () => number } {
  let made = 0;
  const done = async (money: { amountMinor: number; currency: string }): Promise<Outcome> => {
    made += 1;
    const { amountMinor, currency } = money;
    return { kind: 'succeeded', pspReference: `psp-${made}`, amountMinor, currency };
  };
  const instead: Readonly<Record<string, Outcome>> = {
    pm_unknown: { kind: 'unknown', reason: 'as asked' },
    pm_not_sent: { kind: 'notSent', reason: 'as asked', retryAfterMs: 1 },
    pm_declined: { kind: 'declined', pspReference: null, declineCode: 'as_asked', soft: false },
  };
  return {
    name: 'willing',
    asked: () => made,
    keyWindowMs: 86_400_000,
    settlingMs: 0,
    askAgainMs: 60_000,
    charge: async (charge) => instead[charge.paymentMethod] ?? done(charge),
    capture: done,
    void: done,
    refund: done,
    confirm: done,
    find: async () => ({ kind: 'none' }),
  };
}

export interface InProcess {
  readonly database: CountingDatabase;
  readonly url: string;
  /** How often the PSP has done something. */
  executions(): number;
  merchant(name: string): Promise<string>;
  ask<T>(merchantId: string, source: string, variables?: object): Promise<ExecutionResult<T>>;
  close(): Promise<void>;
}

/** The schema on a database of its own, without HTTP, a store of its own and a willing PSP. */
export async function startInProcess(): Promise<InProcess> {
  const empty = await createDatabase();
  await migrate(empty.url, migrationsFolder());
  const keys = new Keys(empty.url);
  const database = new CountingDatabase({ url: empty.url, poolMax: 4, statementMs: 5_000 });
  const options = {
    leaseMs: 30_000,
    recoverAfterMs: 60_000,
    recoveryLeaseMs: 30_000,
    openBudgetMs: 5_000,
    settleBudgetMs: 5_000,
  };
  const psp = willingPsp();
  const events: PostgresEvents = new PostgresEvents(database, {
    budgetMs: 5_000,
    onNumbered: (ends) => feed.wake(ends),
  });
  // As in a server, and over a connection of its own, so that its statements are not counted.
  const aside = new Database({ url: empty.url, poolMax: 1, statementMs: 5_000 });
  const numbering = startNumbering({
    events: new PostgresEvents(aside, { budgetMs: 5_000, onNumbered: () => {} }),
    everyMs: 1_000,
    gatherMs: 0,
    onError: () => {},
  });
  const feed: Feed = new Feed({ events, everyMs: 1_000, pageSize: 10, onError: () => {} });
  const services: Services = {
    psp,
    journal: new PostgresJournal(database, options),
    followUps: new PostgresFollowUps(database, options),
    cancels: new PostgresCancels(database, 5_000),
    reader: new PostgresPaymentReader(database, 5_000),
    ledger: new PostgresLedgerReader(database, 5_000, { database, budgetMs: 5_000 }),
    events,
    feed,
    endpoints: new PostgresEndpoints(database, 5_000),
    desk: undefined,
    now: () => performance.now(),
    leaseMs: 30_000,
    pspTimeoutMs: 10_000,
    answerTtlMs: 60_000,
  };
  const schema = buildSchema({
    store: new MemoryStore(),
    leaseMs: 30_000,
    answerTtlMs: 60_000,
    joinWaitMs: 1_000,
  });
  return {
    database,
    url: empty.url,
    executions: psp.asked,
    merchant: async (name) => {
      const made = await keys.create({
        merchant: name,
        name,
        scopes: ['payments:read', 'payments:write'],
        expiresAt: null,
      });
      return made.merchantId;
    },
    ask: async <T>(merchantId: string, source: string, variables: object = {}) => {
      const contextValue = new Context({
        services,
        caller: { merchantId, scopes: new Set() },
        idempotencyKeyHeader: undefined,
      });
      const variableValues = variables as Record<string, unknown>;
      return (await graphql({
        schema,
        source,
        variableValues,
        contextValue,
      })) as ExecutionResult<T>;
    },
    close: async () => {
      await Promise.all([feed.stop(), numbering.stop()]);
      await aside.close();
      await database.close();
      await keys.close();
      await empty.drop();
    },
  };
}
