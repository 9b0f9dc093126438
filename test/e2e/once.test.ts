import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { codeOf, eventually, freshKey, paid, pay, type Reply, statusOf } from '../support/pay.ts';
import { startTestRedis, type TestRedis } from '../support/with-redis.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';

const KEYS = 50;
const DUPLICATES = 100;
const CLEAN = new Set(['EXECUTED', 'JOINED', 'REPLAYED', 'IN_PROGRESS']);

let database: TestDatabase;
let redis: TestRedis;
let simulator: TestSimulator;
const servers: TestServer[] = [];

beforeAll(async () => {
  [database, redis, simulator] = await Promise.all([
    createDatabase(),
    startTestRedis(),
    startTestSimulator(),
  ]);
}, 120_000);

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await Promise.all([redis.stop(), simulator.stop()]);
  await database.drop();
});

async function startPair(env: Readonly<Record<string, string>> = {}): Promise<TestServer[]> {
  const common = { DATABASE_URL: database.url, SIMULATOR_URL: simulator.url, ...env };
  const pair = await Promise.all([
    startTestServer({ env: common }),
    startTestServer({ env: common }),
  ]);
  servers.push(...pair);
  return pair;
}

/** Every key a hundred times at once, over both processes by turns. */
async function storm(pair: readonly TestServer[], during?: () => Promise<unknown>) {
  const keys = Array.from({ length: KEYS }, freshKey);
  const sent = keys.flatMap((key) =>
    Array.from({ length: DUPLICATES }, (_, turn) =>
      pay(pair[turn % pair.length] as TestServer, key, { paymentMethod: 'pm_slow_200' }).then(
        (reply) => ({ key, reply }),
      ),
    ),
  );
  const [replies] = await Promise.all([Promise.all(sent), during?.()]);
  return { keys, replies };
}

const outcomeOf = (reply: Reply): string =>
  codeOf(reply) === 'IDEMPOTENCY_IN_PROGRESS' ? 'IN_PROGRESS' : paid(reply).idempotency.outcome;

async function expectOnce(
  pair: readonly TestServer[],
  { keys, replies }: Awaited<ReturnType<typeof storm>>,
): Promise<void> {
  const before = new Set((await simulator.executions()).map(({ reference }) => reference));
  expect(before.size).toBe((await simulator.executions()).length);
  for (const key of keys) {
    const own = replies.filter((one) => one.key === key).map(({ reply }) => reply);
    const outcomes = own.map(outcomeOf);
    expect(outcomes.filter((outcome) => !CLEAN.has(outcome))).toEqual([]);
    expect(outcomes.filter((outcome) => outcome === 'EXECUTED')).toHaveLength(1);
    const ids = own.filter((reply) => reply.status === 200).map((reply) => paid(reply).payment?.id);
    expect(new Set(ids).size).toBe(1);
    expect(await statusOf(pair[0] as TestServer, key)).toBe('CAPTURED');
  }
}

describe('fifty keys, a hundred duplicates each, over two processes', () => {
  const cases: readonly [string, (() => Promise<unknown>) | undefined, () => Promise<unknown>][] = [
    ['with Redis', undefined, async () => {}],
    ['with Redis flushed during the run', () => redis.flush(), async () => {}],
    ['with Redis killed during the run', () => redis.kill(), async () => {}],
    ['with Redis stopped before', undefined, async () => {}],
  ];

  let pair: TestServer[];
  beforeAll(async () => {
    pair = await startPair({ REDIS_URL: redis.url });
  }, 120_000);

  test.each(cases)(
    '%s: each is executed once',
    async (_name, during) => {
      const executedBefore = (await simulator.executions()).length;
      const stormed = await storm(pair, during);
      expect((await simulator.executions()).length - executedBefore).toBe(KEYS);
      await expectOnce(pair, stormed);
    },
    120_000,
  );

  test('with Redis back again: an old key is still a replay', async () => {
    const [one, other] = pair as [TestServer, TestServer];
    const key = freshKey();
    const first = paid(await pay(one, key));
    await redis.restart();
    const again = await eventually(
      async () => paid(await pay(other, key)),
      ({ idempotency }) => idempotency.outcome === 'REPLAYED',
    );
    expect(again.payment?.id).toBe(first.payment?.id);
  });
});

test('with no Redis at all: each is executed once', async () => {
  // Each process has a first door of its own; the journal alone decides between them.
  const pair = await startPair({
    NODE_ENV: 'test',
    PATH: process.execPath.replace(/\/[^/]+$/, ''),
  });
  const executedBefore = (await simulator.executions()).length;
  const stormed = await storm(pair);
  expect((await simulator.executions()).length - executedBefore).toBe(KEYS);
  await expectOnce(pair, stormed);
}, 120_000);
