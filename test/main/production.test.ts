import { join } from 'node:path';
import postgres from 'postgres';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Keys, migrate } from '../../src/postgres/administration.ts';
import { ask, EUR_10_50, freshKey, paid, pay, type Target } from '../support/pay.ts';
import { startTestPostgres, type TestPostgres } from '../support/with-postgres.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';
import { semel } from './semel.ts';

const MIGRATIONS = join(import.meta.dirname, '../../drizzle');

/** Each test starts processes, and a busy machine starts them slowly. */
vi.setConfig({ testTimeout: 180_000 });

let database: TestPostgres;
let simulator: TestSimulator;
let server: TestServer;
let target: Target;

const production = () => ({
  NODE_ENV: 'production',
  DATABASE_URL: database.url,
  SIMULATOR_URL: simulator.url,
  DEMO_API_KEY: '',
});

/** With a database that forgets nothing, as production demands. */
beforeAll(async () => {
  [database, simulator] = await Promise.all([startTestPostgres(), startTestSimulator()]);
}, 120_000);

afterAll(async () => {
  await server?.stop();
  await Promise.all([simulator.stop(), database.remove()]);
}, 60_000);

test('a database that was not migrated, or that could forget, is refused with what to do', async () => {
  const empty = await semel(['serve'], production());
  expect(empty.code).toBe(1);
  expect(empty.err).toMatch(/^semel: .*semel migrate\n$/);

  await migrate(database.url, MIGRATIONS);
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  try {
    const name = new URL(database.url).pathname.slice(1);
    await sql.unsafe(`alter database ${name} set synchronous_commit = off`);
    const forgetful = await semel(['serve'], production());
    expect(forgetful.code).toBe(1);
    expect(forgetful.err).toMatch(/^semel: .*synchronous_commit = off.*\n$/);
    await sql.unsafe(`alter database ${name} reset synchronous_commit`);
  } finally {
    await sql.end();
  }
});

test('a payment is made and replayed', async () => {
  const keys = new Keys(database.url);
  const scopes = ['payments:read', 'payments:write'] as const;
  const { key: apiKey } = await keys.create({
    merchant: 'shop',
    name: 'a',
    scopes,
    expiresAt: null,
  });
  await keys.close();
  server = await startTestServer({ env: production() });
  target = { url: server.url, apiKey };
  const key = freshKey();
  expect(paid(await pay(target, key)).idempotency.outcome).toBe('EXECUTED');
  expect(paid(await pay(target, key)).idempotency.outcome).toBe('REPLAYED');
});

test('the schema is not told, neither by introspection nor by suggestions', async () => {
  for (const query of [
    '{ __schema { queryType { name } } }',
    '{ __type(name: "Payment") { name } }',
    '{ payment(by: { id: "x" }) { statu } }',
    '{ paymets { nodes { id } } }',
    'query($by: PaymentLookp!) { payment(by: $by) { id } }',
  ]) {
    const { status, body } = await ask(target, query);
    expect(status).toBe(400);
    expect(JSON.stringify(body)).not.toMatch(/did you mean|"status"|payments|PaymentLookup/i);
  }
  const misspelled = { ...EUR_10_50, payMethod: 'pm_ok' };
  const wrong = await ask(
    target,
    'mutation($key: IdempotencyKey!, $input: CreatePaymentInput!) { createPayment(idempotencyKey: $key, input: $input) { payment { id } } }',
    { key: freshKey(), input: misspelled },
  );
  expect(wrong.status).toBe(400);
  expect(JSON.stringify(wrong.body)).not.toMatch(/did you mean/i);
  expect((await ask(target, '{ __typename }')).body).toEqual({ data: { __typename: 'Query' } });
});

test('there is no playground, and no key in what it says', async () => {
  const page = await fetch(`${server.url}/graphql`, { headers: { accept: 'text/html' } });
  expect(page.status).not.toBe(200);
  for (const path of ['/playground', '/playground/demo.json', '/']) {
    expect((await fetch(`${server.url}${path}`, { redirect: 'manual' })).status).toBe(404);
  }
  expect(server.output()).not.toMatch(/sk_|API key/);
});
