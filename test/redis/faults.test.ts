import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Ask, Intent } from '../../src/idempotency/index.ts';
import { type RedisStore, StoreUnavailable } from '../../src/redis/index.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';
import { startTestRedis, type TestRedis } from '../support/with-redis.ts';
import { openStore } from './redis-bench.ts';

/** Twice the usual budget, and as much again, for a machine that is busy with other tests. */
const BUDGET_MS = 200;
const STEP_MS = 400;

let redis: TestRedis;
let proxy: FaultProxy;
let store: RedisStore;
let reasons: string[];

beforeAll(async () => {
  redis = await startTestRedis();
});

afterAll(async () => {
  await redis?.stop();
});

beforeEach(async () => {
  proxy = await startProxy(redis.port);
  reasons = [];
  store = await openStore(
    `redis://127.0.0.1:${proxy.port}`,
    { budgetMs: BUDGET_MS, onError: ({ reason }) => reasons.push(reason) },
    { silenceMs: 3_000 },
  );
  // From here on Redis knows the scripts and the connections are warm.
  await lifeOf(ask());
});

afterEach(async () => {
  store.close();
  await proxy.close();
});

let made = 0;

function ask(): Ask {
  made += 1;
  return { intent: { scope: 'm', key: `fault-${made}` }, fingerprint: 'f', token: `mine-${made}` };
}

const rival = (mine: Ask): Ask => ({ ...mine, token: `rival of ${mine.token}` });

/** A claim, its answer and the replay, all as they should be. */
async function lifeOf(mine: Ask, on = store): Promise<void> {
  expect(await on.claim(mine, 9_000)).toEqual({ kind: 'run' });
  expect(await on.settle(mine, '=1', 99_000)).toBe(true);
  const replay = { kind: 'replay', answer: '=1' };
  expect(await on.claim(rival(mine), 9_000)).toEqual(replay);
}

async function inTime<T>(step: Promise<T>): Promise<T> {
  const started = performance.now();
  try {
    return await step;
  } finally {
    expect(performance.now() - started).toBeLessThan(STEP_MS);
  }
}

/** The step ends in time by throwing; returns the reason. */
async function unavailable(step: Promise<unknown>): Promise<string> {
  const error: unknown = await inTime(step).then(
    (value) => value,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(StoreUnavailable);
  return (error as StoreUnavailable).reason;
}

/** Every step fails in time. */
async function everyStepFails(): Promise<void> {
  const mine = ask();
  await unavailable(store.claim(mine, 9_000));
  await unavailable(store.settle(mine, '=1', 99_000));
  await unavailable(store.release(mine));
}

/** As soon as the breaker has closed again, everything works. */
async function recovers(): Promise<void> {
  await expect
    .poll(() => store.claim(ask(), 9_000).catch(() => null), { timeout: 10_000 })
    .not.toBe(null);
  await lifeOf(ask());
}

describe('a reply that is lost with its connection', () => {
  let patient: RedisStore;

  beforeEach(async () => {
    const onError = ({ reason }: StoreUnavailable): void => void reasons.push(reason);
    patient = await openStore(`redis://127.0.0.1:${proxy.port}`, { budgetMs: 2_000, onError });
  });

  afterEach(() => patient.close());

  it('the claim is asked again and knows its own token', async () => {
    const mine = ask();
    await proxy.set('dropNextReply');
    expect(await patient.claim(mine, 9_000)).toEqual({ kind: 'run' });
    expect(await patient.claim(rival(mine), 9_000)).toMatchObject({ kind: 'busy' });
    expect(reasons).toEqual([]);
  });

  it('the answer is in place, the next call is a replay', async () => {
    const mine = ask();
    await patient.claim(mine, 9_000);
    await proxy.set('dropNextReply');
    await patient.settle(mine, '=1', 99_000);
    expect(await patient.claim(rival(mine), 9_000)).toEqual({ kind: 'replay', answer: '=1' });
  });

  it('the release has happened', async () => {
    const mine = ask();
    await patient.claim(mine, 9_000);
    await proxy.set('dropNextReply');
    await patient.release(mine);
    expect(await patient.claim(rival(mine), 9_000)).toEqual({ kind: 'run' });
  });

  it('of ten claims at once each runs on its own intent', async () => {
    await proxy.set('dropNextReply');
    const claims = Array.from({ length: 10 }, () => patient.claim(ask(), 9_000));
    const verdicts = await Promise.all(claims);
    expect(verdicts.every(({ kind }) => kind === 'run')).toBe(true);
  });
});

describe('a reply that is lost while the connection stays', () => {
  it('the claim throws, and its ghost is taken back', async () => {
    const mine = ask();
    await proxy.set('swallowNextReply');
    expect(await unavailable(store.claim(mine, 60_000))).toBe('TIMEOUT');
    await expect
      .poll(() => store.claim(rival(mine), 9_000).catch(() => null), { timeout: 10_000 })
      .toEqual({ kind: 'run' });
  });
});

describe('a Redis that stalls', () => {
  it('is given 100 ms if nothing else is said', async () => {
    const usual = await openStore(redis.url);
    redis.freeze();
    try {
      const started = performance.now();
      expect(await unavailable(usual.claim(ask(), 9_000))).toBe('TIMEOUT');
      expect(performance.now() - started).toBeGreaterThanOrEqual(95);
      expect(performance.now() - started).toBeLessThan(BUDGET_MS + 100);
    } finally {
      redis.thaw();
      usual.close();
    }
  });

  it('costs one budget per step, then nothing, and all is well when it goes on', async () => {
    redis.freeze();
    try {
      for (let i = 0; i < 5; i += 1) await unavailable(store.claim(ask(), 9_000));
      const started = performance.now();
      expect(await unavailable(store.claim(ask(), 9_000))).toBe('BREAKER_OPEN');
      expect(performance.now() - started).toBeLessThan(20);
    } finally {
      redis.thaw();
    }
    await recovers();
  });

  it('leaves no ghost: a claim that was granted after its budget is taken back', async () => {
    const mine = ask();
    redis.freeze();
    try {
      await unavailable(store.claim(mine, 60_000));
    } finally {
      redis.thaw();
    }
    await expect
      .poll(() => store.claim(rival(mine), 9_000).catch(() => null), { timeout: 10_000 })
      .toEqual({ kind: 'run' });
  });

  it('does not take back a claim that its owner has asked for again', async () => {
    const mine = ask();
    redis.freeze();
    try {
      await unavailable(store.claim(mine, 60_000));
    } finally {
      redis.thaw();
    }
    await expect
      .poll(() => store.claim(mine, 60_000).catch(() => null), { timeout: 10_000 })
      .toEqual({ kind: 'run' });
    await pause(700);
    expect(await store.settle(mine, '=1', 99_000)).toBe(true);
  });

  it('gets the answer later, so that retries need not wait for the lease to end', async () => {
    const mine = ask();
    await store.claim(mine, 60_000);
    redis.freeze();
    try {
      await unavailable(store.settle(mine, '=1', 99_000));
    } finally {
      redis.thaw();
    }
    await expect
      .poll(() => store.claim(rival(mine), 9_000).catch(() => null), { timeout: 10_000 })
      .toEqual({ kind: 'replay', answer: '=1' });
  });

  it('while it is only the network that stalls: the same', async () => {
    await proxy.set('stall');
    await everyStepFails();
    await proxy.set('pass');
    await recovers();
  });

  it('keeps a wait to its time', async () => {
    const mine = ask();
    await store.claim(mine, 9_000);
    await proxy.set('stall');
    const started = performance.now();
    await store.wait(mine.intent, 300);
    expect(performance.now() - started).toBeGreaterThanOrEqual(295);
    expect(performance.now() - started).toBeLessThan(300 + STEP_MS);
    await proxy.set('pass');
  });
});

describe('a Redis that is gone', () => {
  it.each(['refuse', 'reset'] as const)('%s: every step fails at once', async (mode) => {
    await proxy.set(mode);
    await everyStepFails();
    const started = performance.now();
    for (let i = 0; i < 200; i += 1) await unavailable(store.claim(ask(), 9_000));
    // Two hundred budgets would be twenty seconds.
    expect(performance.now() - started).toBeLessThan(1_000);
    await proxy.set('pass');
    await recovers();
  });

  it('killed: every step fails at once, and the new one, which knows nothing, is used', async () => {
    const mine = ask();
    await store.claim(mine, 9_000);
    await redis.kill();
    await everyStepFails();
    await redis.restart();
    await recovers();
    expect(await store.settle(mine, '=1', 99_000)).toBe(false);
  });

  it('killed while claims are under way: each ends in time', async () => {
    const claims = Array.from({ length: 50 }, () => inTime(store.claim(ask(), 9_000)));
    const ended = Promise.allSettled(claims);
    await redis.kill();
    for (const result of await ended) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(StoreUnavailable);
    }
    await redis.restart();
    await recovers();
  });

  it('a wait becomes a timer, and later waits are woken again', async () => {
    const mine = ask();
    await redis.kill();
    const started = performance.now();
    await store.wait(mine.intent, 200);
    expect(performance.now() - started).toBeGreaterThanOrEqual(195);
    await redis.restart();
    await recovers();
    await store.claim(mine, 9_000);
    const again = performance.now();
    // The connection that subscribes may come back a little later than the other.
    const woken = expect.poll(
      async () => {
        const from = performance.now();
        await store.wait(mine.intent, 1_000);
        return performance.now() - from < 900;
      },
      { timeout: 10_000 },
    );
    await store.settle(mine, '=1', 99_000);
    await woken.toBe(true);
    expect(performance.now() - again).toBeLessThan(5_000);
  });
});

describe('a Redis that forgets', () => {
  it('FLUSHALL: the lease is lost, which settle says, and the intent is free', async () => {
    const mine = ask();
    await store.claim(mine, 9_000);
    await redis.flush();
    expect(await inTime(store.settle(mine, '=1', 99_000))).toBe(false);
    expect(await inTime(store.release(mine))).toBe(false);
    expect(await inTime(store.claim(rival(mine), 9_000))).toEqual({ kind: 'run' });
    expect(await inTime(store.settle(mine, '=1', 99_000))).toBe(false);
  });

  it('SCRIPT FLUSH: nobody notices', async () => {
    const mine = ask();
    const admin = redis.client();
    await admin.script('FLUSH');
    expect(await inTime(store.claim(mine, 9_000))).toEqual({ kind: 'run' });
    await admin.script('FLUSH');
    expect(await inTime(store.settle(mine, '=1', 99_000))).toBe(true);
    await admin.script('FLUSH');
    expect(await inTime(store.release(mine))).toBe(false);
    expect(reasons).toEqual([]);
  });
});

describe('a Redis that refuses', () => {
  it('READONLY: every step fails in time; when it may write again, the answer gets there', async () => {
    const mine = ask();
    await store.claim(mine, 60_000);
    const admin = redis.client();
    await admin.replicaof('127.0.0.1', '1');
    try {
      expect(await unavailable(store.claim(ask(), 9_000))).toBe('READONLY');
      expect(await unavailable(store.settle(mine, '=1', 99_000))).toBe('READONLY');
    } finally {
      await admin.replicaof('NO', 'ONE');
    }
    await expect
      .poll(() => store.claim(rival(mine), 9_000).catch(() => null), { timeout: 10_000 })
      .toEqual({ kind: 'replay', answer: '=1' });
  });

  it('OOM: every step that writes fails in time', async () => {
    const admin = redis.client();
    await admin.config('SET', 'maxmemory', '1');
    try {
      expect(await unavailable(store.claim(ask(), 9_000))).toBe('OOM');
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
    await recovers();
  });

  it('tells the listener one word and neither token nor answer', async () => {
    const admin = redis.client();
    await admin.config('SET', 'maxmemory', '1');
    try {
      const mine = ask();
      const error: unknown = await store.claim(mine, 9_000).catch((thrown: unknown) => thrown);
      expect(reasons).toEqual(['OOM']);
      expect(error).toBeInstanceOf(StoreUnavailable);
      const { message, stack, cause } = error as StoreUnavailable;
      expect(`${message} ${stack} ${JSON.stringify(error)}`).not.toContain(mine.token);
      expect(cause).toBeUndefined();
    } finally {
      await admin.config('SET', 'maxmemory', '0');
    }
  });
});

describe('an entry that is damaged or foreign', () => {
  let patient: RedisStore;

  beforeEach(async () => {
    patient = await openStore(redis.url, { budgetMs: 2_000 });
  });

  afterEach(() => patient.close());

  async function keyOf(intent: Intent): Promise<string> {
    const admin = redis.client();
    await redis.flush();
    const lease = { intent, fingerprint: 'f', token: 'first' };
    await patient.claim(lease, 9_000);
    await patient.settle(lease, '="right"', 99_000);
    const [key = ''] = await admin.keys('semel:*');
    return key;
  }

  type Damage = (entry: Record<string, unknown>) => string;
  const json =
    (change: Record<string, unknown>): Damage =>
    (entry) =>
      JSON.stringify({ ...entry, ...change });

  const damages: [string, Damage][] = [
    ['empty', () => ''],
    ['not JSON', () => 'IN_PROGRESS'],
    ['JSON that is cut off', (entry) => JSON.stringify(entry).slice(0, -9)],
    ['an empty object', () => '{}'],
    ['a list', () => '[1,2]'],
    ['a number', () => '7'],
    ['null', () => 'null'],
    ['nested deeper than any parser likes', () => '['.repeat(50_000)],
    ['of another version', json({ format: 'semel-2' })],
    ['of another intent', json({ intent: '0'.repeat(32) })],
    ['of an unknown kind', json({ kind: 'done' })],
    ['without an answer', json({ answer: undefined })],
    ['with an answer that is no text', json({ answer: { id: 7 } })],
    ['without a token', json({ token: null })],
    ['without a fingerprint', json({ fingerprint: 7 })],
    ['a lease without an end', json({ kind: 'held' })],
    ['5 MB of text', () => 'x'.repeat(5_000_000)],
    ['an answer of 5 MB', json({ answer: 'x'.repeat(5_000_000) })],
  ];

  it.each(damages)('%s: counts as absent, and the claim repairs it', async (_, damage) => {
    const mine = ask();
    const admin = redis.client();
    const key = await keyOf(mine.intent);
    const entry = JSON.parse((await admin.get(key)) ?? '{}') as Record<string, unknown>;
    await admin.set(key, damage(entry));
    expect(await patient.settle(mine, '=1', 99_000)).toBe(false);
    expect(await patient.release(mine)).toBe(false);
    await lifeOf(mine, patient);
  });

  it('copied from another payment: it is not that payment’s answer', async () => {
    const [mine, theirs] = [ask(), ask()];
    const admin = redis.client();
    const theirKey = await keyOf(theirs.intent);
    const theirEntry = (await admin.get(theirKey)) ?? '';
    const myKey = await keyOf(mine.intent);
    await admin.set(myKey, theirEntry, 'PX', 99_000);
    await lifeOf(mine, patient);
  });

  it.each(['hset', 'rpush', 'sadd'] as const)('of another type (%s): the same', async (make) => {
    const mine = ask();
    const admin = redis.client();
    const key = await keyOf(mine.intent);
    await admin.del(key);
    await admin.call(make, key, 'a', 'b');
    expect(await patient.settle(mine, '=1', 99_000)).toBe(false);
    expect(await patient.release(mine)).toBe(false);
    await patient.wait(mine.intent, 10_000);
    await lifeOf(mine, patient);
  });
});

describe('a claim that was taken over', () => {
  it('leaves the other token where it is, whatever its first owner does', async () => {
    const mine = ask();
    const admin = redis.client();
    await redis.flush();
    await store.claim(mine, 9_000);
    const [key = ''] = await admin.keys('semel:*');
    await admin.del(key);
    await store.claim(rival(mine), 9_000);
    const standing = await admin.get(key);
    expect(await store.settle(mine, '=1', 99_000)).toBe(false);
    expect(await store.release(mine)).toBe(false);
    expect(await admin.get(key)).toBe(standing);
  });
});

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
