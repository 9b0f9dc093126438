import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { codeOf, eventually, freshKey, paid, pay, statusOf } from '../support/pay.ts';
import type { TestServer } from '../support/with-server.ts';
import { atThePsp, disagreements, QUICK, startWorld, type World } from './world.ts';

/** T1 and T2 may wait for seconds, so that a test can look while they do. */
const PATIENT = { LOCK_GRACE_MS: '3500', RECOVER_AFTER_MS: '6000' } as const;
const LOCK_TTL_MS =
  Number(QUICK.PSP_TIMEOUT_MS) + Number(QUICK.CLOCK_DRIFT_MS) + Number(PATIENT.LOCK_GRACE_MS);
/** An advisory lock that every write of the journal waits for, by a trigger that only tests have. */
const GATE = 20_260_101;

let world: World;
let left: TestServer | undefined;

beforeAll(async () => {
  world = await startWorld(PATIENT);
  left = await world.server();
  await world.sql.unsafe(`
    create function test_gate() returns trigger language plpgsql as $$
    begin perform pg_advisory_xact_lock_shared(${GATE}); return new; end $$;
    create trigger a_test_gate before insert or update on journal_entries
      for each row execute function test_gate()`);
}, 120_000);

afterAll(() => world.end(), 60_000);

/** The server that the test before has left running, or else a new one. */
async function running(): Promise<TestServer> {
  const server = left ?? (await world.server());
  left = undefined;
  return server;
}

/** A client that the server's death cuts off is not what these tests look at. */
const ignored = (reply: Promise<unknown>): void => void reply.catch(() => {});

async function expectCapturedOnce(server: TestServer, key: string): Promise<void> {
  await eventually(
    () => statusOf(server, key),
    (status) => status === 'CAPTURED',
    30_000,
  );
  expect(await world.executions(key)).toHaveLength(1);
  expect(await world.rows(key)).toHaveLength(1);
  const keys = (await world.requests(key)).map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(keys).size).toBe(1);
}

interface HeldJournal {
  /** The backends whose write waits, the longest waiting first, once there are so many. */
  waiting(what: 'T1' | 'T2', atLeast: number): Promise<readonly number[]>;
  /** As if the connection had broken before the statement got through. */
  lose(pids: readonly number[]): Promise<void>;
}

/** While `use` runs no entry is written; what waits and was not lost is written afterwards. */
async function whileJournalIsHeld<T>(use: (journal: HeldJournal) => Promise<T>): Promise<T> {
  const { sql } = world;
  const holder = await sql.reserve();
  await holder`select pg_advisory_lock(${GATE})`;
  try {
    return await use({
      waiting: (what, atLeast) =>
        eventually(
          async () => {
            const start = what === 'T1' ? '%with asked as%' : '%with told as%';
            const backends = await sql<{ pid: number }[]>`
              select pid from pg_stat_activity
              where datname = current_database() and wait_event = 'advisory' and query like ${start}
              order by query_start`;
            return backends.map(({ pid }) => pid);
          },
          (pids) => pids.length >= atLeast,
          5_000,
        ),
      lose: async (pids) => {
        for (const pid of pids) await sql`select pg_terminate_backend(${pid})`;
      },
    });
  } finally {
    await holder`select pg_advisory_unlock(${GATE})`;
    holder.release();
  }
}

describe('kill -9', () => {
  test('while the PSP is being asked: the next start ends it without the client', async () => {
    const server = await running();
    const [slow, hung, done] = [freshKey(), freshKey(), freshKey()];
    const first = paid(await pay(server, done));
    ignored(pay(server, slow, { paymentMethod: 'pm_slow_1000' }));
    ignored(pay(server, hung, { paymentMethod: 'pm_execute_then_hang' }));
    await atThePsp(world, slow);
    await atThePsp(world, hung);
    await server.kill();
    for (const key of [slow, hung]) expect((await world.rows(key))[0]?.state).toBe('SENDING');

    await world.redis.flush();
    left = await world.server();
    const replay = paid(await pay(left, done));
    expect(replay.idempotency.outcome).toBe('REPLAYED');
    expect(replay.payment).toEqual(first.payment);
    for (const key of [done, slow, hung]) await expectCapturedOnce(left, key);
  }, 60_000);

  test('before T1, between T1 and the send, and in T2', async () => {
    const server = await running();
    const [unwritten, unsent, unsettled] = [freshKey(), freshKey(), freshKey()];
    await world.redis.flush();
    ignored(pay(server, unsettled, { paymentMethod: 'pm_slow_600' }));
    await atThePsp(world, unsettled);
    await whileJournalIsHeld(async (journal) => {
      ignored(pay(server, unwritten));
      const first = await journal.waiting('T1', 1);
      ignored(pay(server, unsent));
      await journal.waiting('T1', 2);
      const settling = await journal.waiting('T2', 1);
      await server.kill();
      await journal.lose([...first, ...settling]);
    });
    await eventually(
      () => world.rows(unsent),
      (rows) => rows.length === 1,
    );
    expect(await world.rows(unwritten)).toEqual([]);
    expect((await world.rows(unsettled))[0]?.state).toBe('SENDING');
    expect(await world.requests(unsent)).toEqual([]);

    // The claims of the dead live for seconds; here longer, so that the next process sees them.
    const redis = world.redis.client();
    const claims = await redis.keys('semel:*');
    for (const claim of claims) {
      expect(await redis.pttl(claim)).toBeLessThanOrEqual(LOCK_TTL_MS);
      await redis.pexpire(claim, 60_000);
    }
    left = await world.server();
    const refused = await pay(left, unwritten);
    expect(refused.status).toBe(409);
    expect(codeOf(refused)).toBe('IDEMPOTENCY_IN_PROGRESS');
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(await world.rows(unwritten)).toEqual([]);
    for (const claim of claims) await redis.pexpire(claim, 1);
    expect(paid(await pay(left, unwritten)).idempotency).toMatchObject({
      outcome: 'EXECUTED',
      attempt: 1,
    });
    for (const key of [unwritten, unsent, unsettled]) await expectCapturedOnce(left, key);
  }, 60_000);
});

describe('SIGTERM', () => {
  test('while the PSP is being asked: that payment is answered, new ones are refused', async () => {
    const server = await running();
    const [slow, late] = [freshKey(), freshKey()];
    const answer = pay(server, slow, { paymentMethod: 'pm_slow_1200' });
    await atThePsp(world, slow);
    const ended = server.stop();

    // A connection of before may be closed just when it is used again.
    await eventually(
      () => fetch(`${server.url}/readyz`).then(({ status }) => status, String),
      (status) => status === 503,
      1_000,
    );
    const reply = await pay(server, late);
    expect(reply.status).toBe(503);
    expect(codeOf(reply)).toBe('IDEMPOTENCY_UNAVAILABLE');
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);

    const done = await answer;
    expect(done.status).toBe(200);
    expect(paid(done)).toMatchObject({
      payment: { status: 'CAPTURED' },
      idempotency: { outcome: 'EXECUTED' },
    });
    expect(await ended).toBe(0);
    expect((await world.rows(slow))[0]?.state).toBe('SUCCEEDED');
    expect(await world.rows(late)).toEqual([]);
    expect(await world.executions(slow)).toHaveLength(1);
  });

  test('and the time is up: what is left over is ended by the next start', async () => {
    const server = await world.server({ DRAIN_MS: '1600' });
    const [stuck, hung] = [freshKey(), freshKey()];
    ignored(pay(server, stuck, { paymentMethod: 'pm_slow_700' }));
    ignored(pay(server, hung, { paymentMethod: 'pm_execute_then_hang' }));
    await atThePsp(world, stuck);
    await atThePsp(world, hung);
    await whileJournalIsHeld(async (journal) => {
      const settling = await journal.waiting('T2', 1);
      const before = performance.now();
      expect(await server.stop()).toBe(0);
      expect(performance.now() - before).toBeLessThan(8_000);
      await journal.lose([...settling, ...(await journal.waiting('T2', 0))]);
    });

    left = await world.server();
    for (const key of [stuck, hung]) await expectCapturedOnce(left, key);
  }, 60_000);

  test('with nothing under way: it ends at once with code 0', async () => {
    const server = await running();
    await pay(server, freshKey());
    const before = performance.now();
    expect(await server.stop()).toBe(0);
    expect(performance.now() - before).toBeLessThan(4_000);
  });
});

test('after all of that the books agree', async () => {
  expect(await disagreements(world)).toEqual([]);
});
