import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { act, acted, eur, look, newPayment } from '../support/act.ts';
import { eventually, freshKey, paid, pay, statusOf } from '../support/pay.ts';
import { mail, SECRET, simulatorMail } from '../support/webhooks.ts';
import type { TestServer } from '../support/with-server.ts';
import { atThePsp, startWorld, type World } from './world.ts';

let world: World;
let servers: readonly [TestServer, TestServer];

/** Recovery would come after half a minute: what ends sooner was ended by a webhook. */
const SLOW = {
  PSP_TIMEOUT_MS: '10000',
  RECOVER_AFTER_MS: '30000',
  DRAIN_MS: '11000',
  SIMULATOR_WEBHOOK_SECRET: SECRET,
};

beforeAll(async () => {
  world = await startWorld(SLOW);
  servers = [await world.server(), await world.server()];
}, 120_000);

afterAll(() => world.end(), 60_000);

const entryOf = async (key: string) => (await world.rows(key))[0]?.id ?? '';
const eventsOf = (entryId: string) =>
  world.sql`select result from inbound_webhooks where entry_id = ${entryId} order by received_at`;
const results = async (entryId: string) => (await eventsOf(entryId)).map((row) => row['result']);
const postings = async (entryId: string) =>
  (await world.sql`select leg from postings where entry_id = ${entryId}`).length;
const entry = async (entryId: string) =>
  (await world.sql`select state, outcome_source from journal_entries where id = ${entryId}`)[0];

test('before the answer, and then twice over two processes: one outcome, and the call answers it', async () => {
  const [one, two] = servers;
  const key = freshKey();
  const answer = pay(one, key, { paymentMethod: 'pm_slow_1500' });
  await atThePsp(world, key);
  const reference = await entryOf(key);
  const event = simulatorMail({ reference });
  const all = await Promise.all(
    Array.from({ length: 10 }, (_, turn) => mail(turn % 2 === 0 ? one.url : two.url, event)),
  );
  expect(all.map(({ status }) => status)).toEqual(Array(10).fill(200));
  expect((await mail(two.url, event)).status).toBe(200);
  expect(await statusOf(two, key)).toBe('CAPTURED');
  expect(paid(await answer)).toMatchObject({ payment: { status: 'CAPTURED' }, userErrors: [] });
  expect(paid(await pay(one, key, { paymentMethod: 'pm_slow_1500' }))).toMatchObject({
    payment: { status: 'CAPTURED' },
    idempotency: { outcome: 'REPLAYED' },
  });
  expect(await entry(reference)).toMatchObject({ state: 'SUCCEEDED', outcome_source: 'WEBHOOK' });
  expect(await results(reference)).toEqual(['SETTLED']);
  expect(await postings(reference)).toBe(2);
}, 60_000);

test('of charge, capture, refund and void that hang: ended by the simulator’s own webhooks', async () => {
  const [one, two] = servers;
  const url = `${two.url}/webhooks/simulator`;
  await world.simulator.settings({ webhook: { url, secret: SECRET, copies: 2 } });
  const key = freshKey();
  const hung = [pay(one, key, { paymentMethod: 'pm_execute_then_hang' })];
  await eventually(
    () => statusOf(two, key),
    (status) => status === 'CAPTURED',
    6_000,
  );
  const held = () => newPayment(one, { captureMode: 'MANUAL' });
  const cases = [
    ['capture', await held(), 'CAPTURED'],
    ['void', await held(), 'VOIDED'],
    ['refund', await newPayment(one), 'REFUNDED'],
  ] as const;
  for (const [verb, paymentId, status] of cases) {
    await world.simulator.scenario({ behaviour: 'execute_then_hang', match: { kind: verb } });
    hung.push(act(one, verb, freshKey(), { paymentId }));
    const now = await eventually(
      () => look(two, paymentId),
      (seen) => seen.status === status,
      6_000,
    );
    expect(now.inDoubt).toEqual(eur(0));
  }
  await world.simulator.settings({ webhook: null });
  const [charge, ...rest] = await Promise.all(hung);
  expect(charge && paid(charge)).toMatchObject({ payment: { status: 'CAPTURED' }, userErrors: [] });
  for (const reply of rest) expect(acted(reply).userErrors).toEqual([]);
}, 90_000);

test('what contradicts, says less or names another amount never changes an outcome', async () => {
  const [one] = servers;
  const key = freshKey();
  await pay(one, key);
  const reference = await entryOf(key);
  const told = [{ status: 'declined' }, { status: 'pending' }, {}, { amountMinor: 1 }];
  for (const more of told) {
    expect((await mail(one.url, simulatorMail({ reference, ...more }))).status).toBe(200);
  }
  expect(await results(reference)).toEqual([
    'CONTRADICTED',
    'NOTED',
    'CONTRADICTED',
    'CONTRADICTED',
  ]);
  expect(await entry(reference)).toMatchObject({ state: 'SUCCEEDED', outcome_source: 'SYNC' });
  expect(await postings(reference)).toBe(2);
  expect(one.output()).toContain('ALERT');

  const wrong = freshKey();
  const answer = pay(one, wrong, { paymentMethod: 'pm_slow_1500' });
  await atThePsp(world, wrong);
  const other = await entryOf(wrong);
  await mail(one.url, simulatorMail({ reference: other, amountMinor: 1_051 }));
  expect(await entry(other)).toMatchObject({ state: 'IN_REVIEW', outcome_source: 'WEBHOOK' });
  expect(paid(await answer)).toMatchObject({ payment: { status: 'IN_REVIEW' } });
}, 60_000);

/** A payment that is still being sent comes into the tables, as from a database that has caught up. */
async function appears(
  like: string,
  { reference, payment }: Record<'reference' | 'payment', string>,
) {
  await world.sql.begin(async (sql) => {
    await sql`create temp table p on commit drop as select p.* from payments p
      join journal_entries e on e.payment_id = p.id where e.idempotency_key = ${like}`;
    await sql`update p set id = ${payment}, status = 'PROCESSING', authorized_minor = 0,
      captured_minor = 0, psp_reference = null`;
    await sql`insert into payments select * from p`;
    await sql`create temp table e on commit drop as
      select * from journal_entries where idempotency_key = ${like}`;
    await sql`update e set id = ${reference}, payment_id = ${payment}, psp_reference = null,
      idempotency_key = ${freshKey()}, psp_idempotency_key = ${randomUUID()}, state = 'SENDING',
      outcome_source = null, settled_at = null, lease_until = clock_timestamp() + interval '1 min',
      next_check_at = clock_timestamp() + interval '1 min'`;
    await sql`insert into journal_entries select * from e`;
  });
}

describe('what is not believed or not ours', () => {
  const count = async () =>
    Number((await world.sql`select count(*) as n from inbound_webhooks`)[0]?.['n']);

  test('is refused with a code, and nothing is kept', async () => {
    const { url } = servers[0];
    const before = await count();
    const good = simulatorMail({ reference: randomUUID() });
    const bad = [
      [{ ...good, body: good.body.replace('1050', '1051') }, 400, 'WEBHOOK_SIGNATURE_INVALID'],
      [simulatorMail({ reference: 'x' }, { ageS: 301 }), 400, 'WEBHOOK_SIGNATURE_INVALID'],
      [{ headers: { 'content-type': 'application/json' }, body: '{}' }, 400, 'WEBHOOK_SIGN'],
      [{ ...good, headers: { 'content-type': 'text/plain' } }, 415, 'BAD_REQUEST'],
      [{ ...good, body: 'x'.repeat(300_000) }, 413, 'BAD_REQUEST'],
    ] as const;
    for (const [one, status, code] of bad) {
      const answer = await mail(url, one);
      expect(answer.status).toBe(status);
      expect(answer.text).toContain(code);
    }
    expect((await mail(url, good, 'stripe')).status).toBe(404);
    expect((await fetch(`${url}/webhooks/simulator`)).status).toBe(405);
    expect(await count()).toBe(before);
    const metrics = await (await fetch(`${url}/metrics`)).text();
    expect(metrics).toMatch(
      /semel_webhooks_total\{psp="simulator",result="webhook_signature_invalid"\} 3/,
    );
  });

  test('signed, and about no payment of ours: kept, and that is all', async () => {
    const { url } = servers[0];
    for (const reference of ['no reference of ours', '\u0000', '']) {
      expect((await mail(url, simulatorMail({ reference }))).status).toBe(200);
    }
    const rows =
      await world.sql`select merchant_id from inbound_webhooks where result = 'NOT_OURS'`;
    expect(rows.map((row) => row['merchant_id'])).toEqual([null, null, null]);
    await expect(world.sql`delete from inbound_webhooks`).rejects.toThrow(/append-only/);
  });

  test('about a payment that is not there yet: refused, invents nothing, and done once it is there', async () => {
    const { url } = servers[0];
    const key = freshKey();
    await pay(servers[0], key);
    const [reference, payment] = [randomUUID(), randomUUID()];
    const event = simulatorMail({ reference, id: `ch_${reference}` });
    const refused = await mail(url, event);
    expect(refused.status).toBe(503);
    expect(refused.text).toContain('WEBHOOK_PAYMENT_UNKNOWN');
    expect(await entry(reference)).toBeUndefined();

    await appears(key, { reference, payment });
    const answers = await Promise.all(servers.map((server) => mail(server.url, event)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await entry(reference)).toMatchObject({ state: 'SUCCEEDED', outcome_source: 'WEBHOOK' });
    expect(await postings(reference)).toBe(2);
    expect(await results(reference)).toEqual(['SETTLED']);
  });
});
