import postgres from 'postgres';
import { Keys } from '../../src/postgres/administration.ts';
import type { Scope } from '../../src/postgres/index.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { eventually, type Target } from '../support/pay.ts';
import { startTestRedis, type TestRedis } from '../support/with-redis.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import {
  type Execution,
  type ReceivedRequest,
  startTestSimulator,
  type TestSimulator,
} from '../support/with-simulator.ts';

type Env = Readonly<Record<string, string>>;

/** Times that keep a test short and still have the order that the configuration demands. */
export const QUICK = {
  PSP_TIMEOUT_MS: '1500',
  CLOCK_DRIFT_MS: '500',
  LOCK_GRACE_MS: '1500',
  RECOVER_AFTER_MS: '4000',
  JOIN_WAIT_MS: '1000',
  DRAIN_MS: '5000',
  // When Redis has forgotten an answer, it is the journal that is asked.
  NEAR_ANSWERS_MS: '0',
} as const;

export interface EntryRow {
  readonly id: string;
  readonly payment_id: string;
  readonly state: string;
  readonly attempt: number;
  readonly amount_minor: string;
  readonly amount: string;
  readonly currency: string;
  readonly psp_idempotency_key: string;
}

/** Everything around the servers: one database, one Redis, one PSP. */
export interface World {
  readonly database: TestDatabase;
  readonly redis: TestRedis;
  readonly simulator: TestSimulator;
  readonly sql: postgres.Sql;
  /** Starts one more server in this world; `end` stops it. */
  server(env?: Env): Promise<TestServer>;
  /** A new merchant's key for a server of this world. */
  merchant(name: string, scopes?: readonly Scope[]): Promise<string>;
  /** The journal's rows under a key, over all merchants. */
  rows(key: string): Promise<readonly EntryRow[]>;
  /** What the PSP's own books hold of the key's entries. */
  executions(key: string): Promise<readonly Execution[]>;
  /** The charge requests that reached the PSP for the key's entries. */
  requests(key: string): Promise<readonly ReceivedRequest[]>;
  end(): Promise<void>;
}

export async function startWorld(common: Env = {}): Promise<World> {
  const [database, redis, simulator] = await Promise.all([
    createDatabase(),
    startTestRedis(),
    startTestSimulator(),
  ]);
  const sql = postgres(database.url, { max: 4, onnotice: () => {} });
  const servers: TestServer[] = [];
  const rows = async (key: string): Promise<readonly EntryRow[]> =>
    sql`select * from journal_entries where idempotency_key = ${key}`;
  const ids = async (key: string) => new Set((await rows(key)).map(({ id }) => id));
  return {
    database,
    redis,
    simulator,
    sql,
    rows,
    server: async (env = {}) => {
      const places = {
        DATABASE_URL: database.url,
        REDIS_URL: redis.url,
        SIMULATOR_URL: simulator.url,
      };
      const server = await startTestServer({ env: { ...QUICK, ...places, ...common, ...env } });
      servers.push(server);
      return server;
    },
    merchant: async (name, scopes = ['payments:read', 'payments:write']) => {
      const keys = new Keys(database.url);
      try {
        return (await keys.create({ merchant: name, name: 'test', scopes, expiresAt: null })).key;
      } finally {
        await keys.close();
      }
    },
    executions: async (key) => {
      const own = await ids(key);
      return (await simulator.executions()).filter(({ reference }) => own.has(reference));
    },
    requests: async (key) => {
      const own = await ids(key);
      const all = await simulator.requests();
      return all.filter(({ method, reference }) => method === 'POST' && own.has(reference ?? ''));
    },
    end: async () => {
      await Promise.all(servers.map((server) => server.stop()));
      await sql.end();
      await Promise.all([redis.stop(), simulator.stop()]);
      await database.drop();
    },
  };
}

/** Waits until the PSP has the charge of a key in hand. */
export async function atThePsp(world: World, key: string): Promise<void> {
  await eventually(
    () => world.requests(key),
    (requests) => requests.length > 0,
  );
}

/** The books that must agree when everything is at rest: the PSP's, the journal and the ledger. */
export async function disagreements({ sql, simulator }: World): Promise<readonly string[]> {
  const executions = await simulator.executions();
  const byReference = new Map(executions.map((one) => [one.reference, one]));
  const twice = executions.length - byReference.size;
  const entries = await sql<(EntryRow & { legs: number; balance: string })[]>`
    select e.*, count(p.leg)::int as legs,
      coalesce(sum(case p.direction when 'DEBIT' then p.amount_minor else -p.amount_minor end), 0) as balance
    from journal_entries e left join postings p on p.merchant_id = e.merchant_id and p.entry_id = e.id
    group by e.merchant_id, e.id`;
  const problems = twice === 0 ? [] : [`${twice} executions too many`];
  for (const { id, state, amount_minor, currency, legs, balance } of entries) {
    const executed = byReference.get(id);
    const succeeded = state === 'SUCCEEDED';
    if (legs !== (succeeded ? 2 : 0) || Number(balance) !== 0) problems.push(`postings of ${id}`);
    if (succeeded && executed === undefined) problems.push(`${id} succeeded without an execution`);
    if ((state === 'DECLINED' || state === 'FAILED') && executed !== undefined) {
      problems.push(`${id} is ${state} and was executed`);
    }
    if (!succeeded || executed === undefined) continue;
    if (`${executed.amountMinor} ${executed.currency}` !== `${amount_minor} ${currency}`) {
      problems.push(`the amount of ${id}`);
    }
  }
  return problems;
}

/** Another merchant at the same server. */
export const as = (server: Target, apiKey: string): Target => ({ url: server.url, apiKey });
