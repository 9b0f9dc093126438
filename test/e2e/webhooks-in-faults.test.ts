import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { act, acted, look, newPayment } from '../support/act.ts';
import { eventually, freshKey, paid, pay, statusOf } from '../support/pay.ts';
import { type Mail, mail, NEXT_SECRET, SECRET, simulatorMail } from '../support/webhooks.ts';
import type { TestServer } from '../support/with-server.ts';
import { as, atThePsp, startWorld, type World } from './world.ts';

const LOGIN = `hears_${Math.random().toString(36).slice(2)}`;
/** Recovery would come after half a minute: what ends sooner was ended by a webhook. */
const SLOW = { PSP_TIMEOUT_MS: '10000', RECOVER_AFTER_MS: '30000', DRAIN_MS: '11000' };

let world: World;
let server: TestServer;

/** The server may only serve: what a webhook does is within that. */
beforeAll(async () => {
  world = await startWorld({ ...SLOW, SIMULATOR_WEBHOOK_SECRET: `${SECRET},${NEXT_SECRET}` });
  await (await world.server()).stop();
  await world.sql.unsafe(`create role ${LOGIN} login password 'hears' in role semel_app`);
  server = await serving();
}, 120_000);

afterAll(async () => {
  await world.end();
}, 60_000);

function serving(): Promise<TestServer> {
  const url = new URL(world.database.url);
  url.username = LOGIN;
  url.password = 'hears';
  return world.server({ DATABASE_URL: url.href });
}

const ignored = (reply: Promise<unknown>): void => void reply.catch(() => {});
const entryOf = async (key: string) => (await world.rows(key))[0]?.id ?? '';

/** A payment whose answer never comes, and the event that would end it. */
async function hung(): Promise<{ key: string; reference: string; event: Mail }> {
  const key = freshKey();
  ignored(pay(server, key, { paymentMethod: 'pm_execute_then_hang' }));
  await atThePsp(world, key);
  const reference = await entryOf(key);
  return { key, reference, event: simulatorMail({ reference, id: `ch_${reference}` }) };
}

/** While `use` runs no event can be kept; whoever tries to waits. */
async function whileInboxIsShut<T>(
  use: (waiting: () => Promise<unknown>) => Promise<T>,
): Promise<T> {
  return world.sql.begin(async (sql) => {
    await sql`lock table inbound_webhooks in access exclusive mode`;
    const waiting = () =>
      eventually(
        () => world.sql`select pid from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
        (pids) => pids.length > 0,
      );
    return use(waiting);
  }) as Promise<T>;
}

const outcome = async (reference: string) => ({
  ...(
    await world.sql`
    select state, outcome_source from journal_entries where id = ${reference}`
  )[0],
  postings: (await world.sql`select leg from postings where entry_id = ${reference}`).length,
  kept: (await world.sql`select result from inbound_webhooks where entry_id = ${reference}`).length,
});
const ONCE = { state: 'SUCCEEDED', outcome_source: 'WEBHOOK', postings: 2, kept: 1 };

test('while the database does not write: 503, nothing half done, and the next delivery does it', async () => {
  const { key, reference, event } = await hung();
  const refused = await whileInboxIsShut(() => mail(server.url, event));
  expect(refused.status).toBe(503);
  expect(refused.text).toContain('WEBHOOK_NOT_STORED');
  expect(refused.headers.get('retry-after')).toBe('5');
  expect(refused.text).not.toMatch(/inbound|insert|select/i);
  expect(await outcome(reference)).toMatchObject({ state: 'SENDING', postings: 0, kept: 0 });
  expect((await mail(server.url, event)).status).toBe(200);
  expect(await statusOf(server, key)).toBe('CAPTURED');
  expect(await outcome(reference)).toEqual(ONCE);
}, 60_000);

test('kill -9 while it is being kept: whatever was committed, the next delivery ends it once', async () => {
  const { reference, event } = await hung();
  await whileInboxIsShut(async (waiting) => {
    ignored(mail(server.url, event));
    await waiting();
    await server.kill();
  });
  server = await serving();
  expect((await mail(server.url, event)).status).toBe(200);
  expect(await outcome(reference)).toEqual(ONCE);
}, 60_000);

test('of another merchant: it moves that one’s payment, and nobody reads it here', async () => {
  const other = as(server, await world.merchant(`other ${randomUUID()}`));
  const key = freshKey();
  ignored(pay(other, key, { paymentMethod: 'pm_execute_then_hang' }));
  ignored(pay(server, key, { paymentMethod: 'pm_execute_then_hang' }));
  await eventually(
    () => world.executions(key),
    (all) => all.length === 2,
  );
  const entries = await world.sql`
    select e.id from journal_entries e join merchants m on m.id = e.merchant_id
    where e.idempotency_key = ${key} and m.name like 'other%'`;
  const reference = entries[0]?.['id'] as string;
  expect((await mail(server.url, simulatorMail({ reference }))).status).toBe(200);
  expect(await statusOf(other, key)).toBe('CAPTURED');
  expect(await statusOf(server, key)).not.toBe('CAPTURED');
}, 60_000);

test('signed with the next secret already, out of order and about follow-ups: each once', async () => {
  const paymentId = await newPayment(server, { captureMode: 'MANUAL' });
  await world.simulator.scenario({ behaviour: 'execute_then_hang', match: { kind: 'capture' } });
  const captureKey = freshKey();
  const call = act(server, 'capture', captureKey, { paymentId });
  const [{ amountMinor } = { amountMinor: 0 }] = await eventually(
    () => world.executions(captureKey),
    (all) => all.length === 1,
  );
  const reference = await entryOf(captureKey);
  const about = { reference, kind: 'capture', id: `ca_${reference}`, amountMinor };
  const succeeded = simulatorMail(about, { secret: NEXT_SECRET });
  const pending = simulatorMail({ ...about, status: 'pending' });
  expect((await mail(server.url, succeeded)).status).toBe(200);
  expect((await mail(server.url, pending)).status).toBe(200);
  expect((await mail(server.url, succeeded)).status).toBe(200);
  expect((await look(server, paymentId)).status).toBe('CAPTURED');
  expect(acted(await call)).toMatchObject({ payment: { status: 'CAPTURED' }, userErrors: [] });
  expect(await outcome(reference)).toEqual({ ...ONCE, kept: 2 });
}, 60_000);

test('without a signing secret nothing is believed, and the PSP is asked to keep it', async () => {
  const deaf = await world.server({ SIMULATOR_WEBHOOK_SECRET: '' });
  const key = freshKey();
  expect(paid(await pay(deaf, key)).payment?.status).toBe('CAPTURED');
  const answer = await mail(deaf.url, simulatorMail({ reference: await entryOf(key) }));
  expect(answer.status).toBe(503);
  expect(answer.text).toContain('WEBHOOKS_NOT_CONFIGURED');
}, 60_000);
