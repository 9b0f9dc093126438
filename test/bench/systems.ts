import { join } from 'node:path';
import postgres from 'postgres';
import { type Child, type Environment, ROOT, runNode, startChild, startOwn } from './children.ts';
import type { Round } from './load.ts';

/** Where a system finds what it shares with the others. */
export interface Place {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly simulatorUrl: string;
}

/** How a payment is asked for, and what says that it was made. */
export type Asking = Pick<Round, 'path' | 'headers' | 'body' | 'expect' | 'refusal'>;

/** A server that can be measured. */
export interface System {
  readonly name: string;
  /** Its database in Redis: every system has its own, as in Postgres. */
  readonly database: number;
  readonly isSemel: boolean;
  /** Makes tables and the like once; what it returns is handed to `start` and `ask`. */
  prepare(place: Place): Promise<string>;
  /** @param flags of node itself; for those that are measured from within */
  start(place: Place, more: Environment, flags?: readonly string[]): Promise<Child>;
  ask(paymentMethod: string, prepared: string): Asking;
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json' };
const MONEY = { amountMinor: 1_050, currency: 'EUR' };

const environmentOf = ({ databaseUrl, redisUrl, simulatorUrl }: Place): Environment => ({
  DATABASE_URL: databaseUrl,
  REDIS_URL: redisUrl,
  SIMULATOR_URL: simulatorUrl,
});

/** Semel as it is built in a folder: this one's, or another commit's. */
export function semel(name: string, database: number, folder = ROOT): System {
  const cli = join(folder, 'dist/main/cli.js');
  return {
    name,
    database,
    isSemel: true,
    prepare: async (place) => {
      const environment = environmentOf(place);
      await runNode([cli, 'migrate'], environment);
      const printed = await runNode([cli, 'keys', 'create', '--merchant', 'bench'], environment);
      return printed.trim().split('\n').at(-1) ?? '';
    },
    start: (place, more, flags = []) =>
      startChild(
        [...flags, cli, 'serve'],
        { ...environmentOf(place), PORT: '0', LOG_LEVEL: 'error', ...more },
        /listens on (\S+)\/graphql/,
      ),
    ask: (paymentMethod, apiKey) => ({
      path: '/graphql',
      headers: { ...JSON_HEADERS, authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({
        query:
          'mutation($k: IdempotencyKey!, $i: CreatePaymentInput!) { createPayment(idempotencyKey: $k, input: $i) { payment { id status } userErrors { code } idempotency { outcome } } }',
        variables: { k: '@', i: { amount: MONEY, paymentMethod } },
      }),
      expect: '"status":"CAPTURED"},"userErrors":[]',
      refusal: 409,
    }),
  };
}

/** One row for each payment; and where keys are kept in Postgres, a table of theirs. */
const SHOP_TABLES = `
create table shop_payments (
  id uuid primary key default gen_random_uuid(), idempotency_key text not null unique,
  amount_minor bigint not null, currency char(3) not null, psp_reference text,
  created_at timestamptz not null default now());
create table shop_keys (
  idempotency_key text primary key, recovery_point text not null, locked_at timestamptz,
  payment_id uuid, response text)`;

/** One of `peers/`: plain HTTP, the key in a header. */
function peer(name: string, database: number): System {
  return {
    name,
    database,
    isSemel: false,
    prepare: async ({ databaseUrl }) => {
      const sql = postgres(databaseUrl, { max: 1 });
      await sql.unsafe(SHOP_TABLES);
      await sql.end();
      return '';
    },
    start: (place, more) => startOwn(`peers/${name}`, { ...environmentOf(place), ...more }),
    ask: (paymentMethod) => ({
      path: '/pay',
      headers: { ...JSON_HEADERS, 'idempotency-key': '@' },
      body: JSON.stringify({ ...MONEY, paymentMethod }),
      expect: '"status":"CAPTURED"',
      refusal: 409,
    }),
  };
}

/** GraphQL by the usual means, on the product's own tables. */
const defaultStack: System = {
  ...peer('default-stack', 7),
  prepare: async (place) => {
    await runNode([join(ROOT, 'dist/main/cli.js'), 'migrate'], environmentOf(place));
    return '';
  },
  ask: (paymentMethod) => ({
    path: '/',
    headers: JSON_HEADERS,
    body: JSON.stringify({
      query:
        'mutation($k: ID!, $i: PaymentInput!) { pay(idempotencyKey: $k, input: $i) { id status } }',
      variables: { k: '@', i: { ...MONEY, paymentMethod } },
    }),
    expect: '"status":"CAPTURED"',
    refusal: 409,
  }),
};

const NOOP_BODY = JSON.stringify({
  query: 'mutation($id: ID!, $i: NoopInput!) { noop(id: $id, input: $i) { id } }',
  variables: { id: '@', i: MONEY },
});

/** The no-op's server knows no keys, but wants one. */
const ANY_KEY = { ...JSON_HEADERS, authorization: 'Bearer bench' };

/** A server that does nothing, in one of two ways. */
function idle(name: 'echo' | 'noop', path: string, expect: string): System {
  return {
    name,
    database: 15,
    isSemel: false,
    prepare: async () => '',
    start: (_place, more) => startOwn('noop-server', more, [name]),
    ask: () => ({ path, headers: ANY_KEY, body: NOOP_BODY, expect }),
  };
}

export const SEMEL = semel('semel', 0);

/** Those whose correctness is compared with ours. */
export const PEERS: readonly System[] = [
  peer('lock', 1),
  peer('powertools', 2),
  peer('node-idempotency', 3),
  peer('express-idempotency', 4),
  peer('recovery-points', 5),
];

export const SYSTEMS: readonly System[] = [
  idle('echo', '/', 'noop'),
  idle('noop', '/graphql', '"data":{"noop"'),
  SEMEL,
  ...PEERS,
  defaultStack,
];
