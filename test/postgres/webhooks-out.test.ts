import { randomBytes, randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { PostgresEndpoints, PostgresEvents, PostgresOutbox } from '../../src/postgres/index.ts';
import type { Claim, Due, Endpoint, Outcome } from '../../src/webhooks/index.ts';
import { type InProcess, startInProcess } from '../support/in-process.ts';
import { EUR_10_50, freshKey, PAY } from '../support/pay.ts';

const LOGIN = `tells_${Math.random().toString(36).slice(2)}`;
const LEASE_MS = 60_000;
const REFUSED = { code: expect.stringMatching(/^(42501|2300[0-9])$/) };

let semel: InProcess;
let owner: postgres.Sql;
let server: postgres.Sql;
let endpoints: PostgresEndpoints;
let outbox: PostgresOutbox;
let events: PostgresEvents;
let merchantId: string;
let endpoint: Endpoint;

beforeAll(async () => {
  semel = await startInProcess();
  owner = postgres(semel.url, { max: 2, onnotice: () => {} });
  await owner.unsafe(`create role ${LOGIN} login password 'tells' in role semel_app`);
  const url = new URL(semel.url);
  url.username = LOGIN;
  url.password = 'tells';
  server = postgres(url.href, { max: 1, onnotice: () => {} });
  endpoints = new PostgresEndpoints(semel.database, 5_000);
  outbox = new PostgresOutbox(semel.database, 5_000);
  events = new PostgresEvents(semel.database, { budgetMs: 5_000, onNumbered: () => {} });
}, 60_000);

afterAll(async () => {
  await server?.end();
  await owner?.unsafe(`drop role ${LOGIN}`);
  await owner?.end();
  await semel?.close();
});

beforeEach(async () => {
  merchantId = await semel.merchant(randomUUID());
  endpoint = await newEndpoint();
});

const sealed = (id = randomUUID()) => ({ id, sealed: randomBytes(64) });

async function newEndpoint(): Promise<Endpoint> {
  const url = `https://shop.example/${randomUUID()}`;
  const asked = { merchantId, url, description: null, eventTypes: null };
  const created = await endpoints.create(randomUUID(), asked, sealed());
  if (created.kind !== 'created') throw new Error(created.kind);
  return created.endpoint;
}

/** So many payments, each with one event that has its position. */
async function paid(count = 1): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const { errors } = await semel.ask(merchantId, PAY, { key: freshKey(), input: EUR_10_50 });
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
  }
  await events.number();
}

async function claimed(leaseMs = LEASE_MS): Promise<Claim> {
  const claim = await outbox.claim(endpoint, leaseMs);
  if (claim === undefined) throw new Error('somebody else has it');
  return claim;
}

async function oneDue(): Promise<Due> {
  const claim = await claimed();
  await outbox.fill(claim, 10);
  const [due] = await outbox.due(claim, 10);
  await outbox.free(claim);
  if (due === undefined) throw new Error('nothing is due');
  return due;
}

const outcome = (more: Partial<Outcome> = {}): Outcome => ({
  attemptId: randomUUID(),
  result: 'DELIVERED',
  httpStatus: 200,
  durationMs: 12,
  response: 'ok',
  nextInMs: null,
  pauseMs: 0,
  isGone: false,
  ...more,
});
const FAILED = { result: 'TIMED_OUT', httpStatus: null, response: null, pauseMs: 1 } as const;

const deliveriesOf = () =>
  owner`select * from webhook_deliveries where endpoint_id = ${endpoint.id}`;
const jobsOf = () => owner`select * from semel_jobs.jobs where key = ${`webhooks:${endpoint.id}`}`;

test('one process at a time has an endpoint, until it frees it or its lease ends', async () => {
  const claims = await Promise.all(
    Array.from({ length: 8 }, () => outbox.claim(endpoint, LEASE_MS)),
  );
  const [claim, ...more] = claims.filter((one) => one !== undefined);
  expect(more).toEqual([]);
  await outbox.free({ ...(claim as Claim), token: randomUUID() });
  expect(await outbox.claim(endpoint, LEASE_MS)).toBeUndefined();
  await outbox.free(claim as Claim);
  await claimed(1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await claimed();
});

test('every event becomes one delivery, whoever fills at once, and in the line’s order', async () => {
  await paid(25);
  const claim = await claimed();
  await Promise.all(Array.from({ length: 8 }, () => outbox.fill(claim, 7)));
  for (let i = 0; i < 4; i += 1) await outbox.fill(claim, 7);
  const due = await outbox.due(claim, 100);
  const line = await events.after(merchantId, 0, 100);
  expect(due.map(({ id }) => id)).toEqual(line.map(({ id }) => id));
  expect(await deliveriesOf()).toHaveLength(25);
  // Who has lost the endpoint fills nothing.
  await paid(1);
  await outbox.fill({ ...claim, token: randomUUID() }, 7);
  expect(await deliveriesOf()).toHaveLength(25);
});

test('an endpoint begins with what comes after it', async () => {
  await paid(3);
  endpoint = await newEndpoint();
  await paid(1);
  const claim = await claimed();
  await outbox.fill(claim, 10);
  expect(await outbox.due(claim, 10)).toHaveLength(1);
});

test('an attempt is written once; who comes too late changes nothing', async () => {
  await paid();
  const due = await oneDue();
  const first = outcome({ ...FAILED, nextInMs: 60_000 });
  expect(await outbox.record(due, first)).toBe('recorded');
  expect(await outbox.record(due, first)).toBe('stale');
  expect(await outbox.record(due, outcome())).toBe('stale');
  expect(await outbox.record({ ...due, attempts: 1 }, outcome())).toBe('recorded');
  expect(await outbox.record({ ...due, attempts: 2 }, outcome(FAILED))).toBe('stale');
  expect(await deliveriesOf()).toMatchObject([{ status: 'DELIVERED', attempts: 2 }]);
  const log = await endpoints.attempts(due, { first: 10, after: undefined });
  expect(log.map(({ number, result }) => [number, result])).toEqual(
    expect.arrayContaining([
      [1, 'TIMED_OUT'],
      [2, 'DELIVERED'],
    ]),
  );
  expect(log).toHaveLength(2);
});

test('given up while others were taken, it disables nothing; while none was, it does', async () => {
  await paid(2);
  const claim = await claimed();
  await outbox.fill(claim, 10);
  const [bad, good] = (await outbox.due(claim, 10)) as [Due, Due];
  await outbox.record(bad, outcome({ ...FAILED, nextInMs: 1 }));
  await outbox.record(good, outcome());
  expect(await outbox.record({ ...bad, attempts: 1 }, outcome(FAILED))).toBe('recorded');
  await endpoints.redeliver(bad);
  expect(await outbox.record({ ...bad, attempts: 2 }, outcome({ ...FAILED, nextInMs: 1 }))).toBe(
    'recorded',
  );
  expect(await outbox.record({ ...bad, attempts: 3 }, outcome(FAILED))).toBe('FAILING');
  expect(await outbox.claim(endpoint, LEASE_MS)).toBeUndefined();
  expect(await endpoints.redeliver(bad)).toBeUndefined();
});

test('sent twice, each change is one', async () => {
  const { id, url } = endpoint;
  const asked = { merchantId, url, description: null, eventTypes: null };
  expect(await endpoints.create(id, asked, sealed())).toMatchObject({ kind: 'created' });
  expect(await endpoints.create(randomUUID(), asked, sealed())).toEqual({ kind: 'url-taken', id });
  const next = sealed();
  for (const _ of [1, 2]) {
    expect(await endpoints.rotate(endpoint, next, 60_000)).toMatchObject({ kind: 'rotated' });
  }
  expect((await claimed()).secrets).toHaveLength(2);
  for (const _ of [1, 2]) expect(await endpoints.remove(endpoint)).toBe(true);
  const left =
    await owner`select from webhook_secrets where endpoint_id = ${id} and sealed is not null`;
  expect(left).toHaveLength(0);
  expect(await endpoints.remove({ merchantId: randomUUID(), id })).toBe(false);
});

test('where no job can be added, events still get their positions, and the sweep finds the rest', async () => {
  await owner`delete from semel_jobs._private_jobs`;
  await owner.unsafe('alter schema semel_jobs rename to away');
  try {
    await paid(2);
  } finally {
    await owner.unsafe('alter schema away rename to semel_jobs');
  }
  expect(await events.last(merchantId)).toBe(2);
  expect(await jobsOf()).toEqual([]);
  expect((await outbox.sweep()).woken).toBeGreaterThan(0);
  expect(await jobsOf()).toHaveLength(1);
});

test('a job that died with its process is added again once the lease has ended', async () => {
  await owner`delete from semel_jobs._private_jobs`;
  await paid(1);
  await owner`update semel_jobs._private_jobs set locked_at = now(), locked_by = 'who died', attempts = 1`;
  await claimed();
  await outbox.sweep();
  expect(await jobsOf()).toMatchObject([{ locked_by: 'who died', attempts: 1 }]);
  await owner`update webhook_endpoints set lease_until = now() - interval '1 ms' where id = ${endpoint.id}`;
  await outbox.sweep();
  expect(await jobsOf()).toMatchObject([{ locked_by: null, attempts: 0 }]);
});

test('a job that waits keeps its place, and is never put off', async () => {
  await paid(1);
  const due = await oneDue();
  await owner`delete from semel_jobs._private_jobs`;
  await outbox.record(due, outcome({ ...FAILED, nextInMs: 3_600_000, pauseMs: 1_000 }));
  await outbox.schedule(endpoint);
  const [later] = await jobsOf();
  expect(Number(later?.['run_at']) - Date.now()).toBeGreaterThan(3_500_000);
  expect(later?.['flags']).toEqual({ failing: true });
  await endpoints.redeliver(due);
  const [now] = await jobsOf();
  expect(Number(now?.['run_at'])).toBeLessThanOrEqual(Date.now());
  await outbox.schedule(endpoint);
  expect((await jobsOf())[0]?.['run_at']).toEqual(now?.['run_at']);
});

test.each([
  'delete from webhook_endpoints',
  'delete from webhook_secrets',
  'delete from webhook_deliveries',
  'delete from webhook_attempts',
  'truncate webhook_attempts',
  "update webhook_attempts set response = ''",
  'update webhook_deliveries set id = gen_random_uuid()',
  "update webhook_deliveries set type = 'charge.succeeded'",
  'update webhook_endpoints set merchant_id = gen_random_uuid()',
  'update webhook_secrets set endpoint_id = gen_random_uuid()',
  'drop schema semel_jobs cascade',
  'alter table semel_jobs._private_jobs disable row level security',
])('who serves may not %s', async (statement) => {
  await expect(server.unsafe(statement)).rejects.toMatchObject(REFUSED);
});

test('an attempt never changes, not even by the owner of the tables', async () => {
  await paid();
  await outbox.record(await oneDue(), outcome());
  await expect(owner`update webhook_attempts set number = 2`).rejects.toThrow('append-only');
  await expect(owner`delete from webhook_attempts`).rejects.toThrow('append-only');
});
