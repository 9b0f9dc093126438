import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Ask } from '../../src/idempotency/index.ts';
import { MemoryStore } from '../../src/idempotency/index.ts';
import type { RedisStore } from '../../src/redis/index.ts';
import { describeStoreContract, type StoreBench } from '../contract/store-contract.ts';
import { ManualClock } from '../idempotency/manual-clock.ts';
import { startTestRedis, type TestRedis } from '../support/with-redis.ts';
import { openStore, redisBench } from './redis-bench.ts';

let redis: TestRedis;
let store: RedisStore;
let other: RedisStore;
let bench: StoreBench;

beforeAll(async () => {
  redis = await startTestRedis();
  // A busy machine is no fault here: the budget has its own tests.
  store = await openStore(redis.url, { budgetMs: 2_000 });
  other = await openStore(redis.socketUrl, { budgetMs: 2_000 });
  bench = redisBench(store, redis.client());
});

afterAll(async () => {
  store?.close();
  other?.close();
  await redis?.stop();
});

function memoryBench(): StoreBench {
  const clock = new ManualClock();
  return { store: new MemoryStore(clock), advance: async (ms) => clock.advance(ms) };
}

describeStoreContract('RedisStore', () => bench, memoryBench);

let made = 0;

function ask(): Ask {
  made += 1;
  const intent = { scope: 'merchant-secret', key: `order-secret-${made}` };
  return { intent, fingerprint: 'digest', token: `token-${made}` };
}

const rival = (mine: Ask): Ask => ({ ...mine, token: `rival of ${mine.token}` });

describe('two processes on one Redis', () => {
  it('see one answer', async () => {
    const mine = ask();
    await store.claim(mine, 9_000);
    expect((await other.claim(rival(mine), 9_000)).kind).toBe('busy');
    await store.settle(mine, '=1', 99_000);
    expect(await other.claim(rival(mine), 9_000)).toEqual({ kind: 'replay', answer: '=1' });
  });

  it('of forty claims from both exactly one runs', async () => {
    const mine = ask();
    const claims = Array.from({ length: 40 }, (_, i) =>
      (i % 2 ? store : other).claim({ ...mine, token: `racer-${i}` }, 9_000),
    );
    const kinds = (await Promise.all(claims)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'run')).toHaveLength(1);
  });

  it('wake each other', async () => {
    const mine = ask();
    await store.claim(mine, 9_000);
    const started = performance.now();
    const woken = other.wait(mine.intent, 5_000);
    await store.settle(mine, '=1', 99_000);
    await woken;
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

describe('what Redis holds', () => {
  it('neither tenant nor key nor anything but hash, token, fingerprint and answer', async () => {
    await redis.flush();
    const mine = ask();
    await store.claim(mine, 9_000);
    const admin = redis.client();
    const [key = ''] = await admin.keys('*');
    expect(key).toMatch(/^semel:\{[0-9a-f]{32}\}$/);
    const held: unknown = JSON.parse((await admin.get(key)) ?? '');
    const intent = key.slice('semel:{'.length, -1);
    const common = { format: 'semel-1', intent, token: mine.token, fingerprint: 'digest' };
    expect(held).toEqual({ ...common, kind: 'held' });
    await store.settle(mine, '=1', 99_000);
    const answered: unknown = JSON.parse((await admin.get(key)) ?? '');
    expect(answered).toEqual({ ...common, kind: 'answered', answer: '=1' });
    expect(await admin.dbsize()).toBe(1);
  });

  it('a lease that ends after its own time, and an answer that is kept for its own', async () => {
    await redis.flush();
    const mine = ask();
    const admin = redis.client();
    await store.claim(mine, 22_000);
    const [key = ''] = await admin.keys('*');
    expect(await admin.pttl(key)).toBeGreaterThan(20_000);
    expect(await admin.pttl(key)).toBeLessThanOrEqual(22_000);
    await store.settle(mine, '=1', 86_400_000);
    expect(await admin.pttl(key)).toBeGreaterThan(86_390_000);
  });

  it('no answer longer than the cap: it is refused with its size, and the lease stands', async () => {
    const mine = ask();
    await store.claim(mine, 9_000);
    const long = `="${'x'.repeat(70_000)}"`;
    await expect(store.settle(mine, long, 99_000)).rejects.toThrow(/too long.*65536 at most/);
    expect((await store.claim(rival(mine), 9_000)).kind).toBe('busy');
  });
});

describe('waiting', () => {
  /** How many connections subscribe to something, and how many channels there are. */
  async function subscriptions(): Promise<{ channels: number; subscribers: number }> {
    const admin = redis.client();
    const channels = (await admin.pubsub('CHANNELS')) as string[];
    const counts = channels.length
      ? ((await admin.pubsub('NUMSUB', ...channels)) as unknown[])
      : [];
    const subscribers = counts
      .filter((_, i) => i % 2 === 1)
      .reduce<number>((a, b) => a + Number(b), 0);
    return { channels: channels.length, subscribers };
  }

  async function calls(command: string): Promise<number> {
    const stats = await redis.client().info('commandstats');
    return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  }

  it('five hundred who wait for one intent cost one subscription and a look or two', async () => {
    const mine = ask();
    await store.claim(mine, 9_000);
    const before = await calls('getrange');
    const woken = Array.from({ length: 500 }, () => store.wait(mine.intent, 8_000));
    await expect.poll(subscriptions).toEqual({ channels: 1, subscribers: 1 });
    await expect.poll(() => calls('getrange')).toBeGreaterThan(before);
    await store.settle(mine, '=1', 99_000);
    await Promise.all(woken);
    expect((await calls('getrange')) - before).toBeLessThanOrEqual(2);
    await expect.poll(subscriptions).toEqual({ channels: 0, subscribers: 0 });
  });

  it('does not miss an answer that came before the subscription', async () => {
    const mine = ask();
    await store.claim(mine, 9_000);
    await store.settle(mine, '=1', 99_000);
    const started = performance.now();
    await other.wait(mine.intent, 5_000);
    expect(performance.now() - started).toBeLessThan(2_000);
  });

  it('does not miss an answer that came before one more joined those who wait', async () => {
    for (let round = 0; round < 50; round += 1) {
      const mine = ask();
      await store.claim(mine, 9_000);
      const first = other.wait(mine.intent, 5_000);
      const settled = store.settle(mine, '=1', 99_000);
      if (round % 2) await settled;
      const second = other.wait(mine.intent, 5_000);
      const started = performance.now();
      await Promise.all([first, second, settled]);
      expect(performance.now() - started).toBeLessThan(2_000);
    }
  });

  it('ends in time when nothing happens, and leaves no subscription', async () => {
    const mine = ask();
    await store.claim(mine, 9_000);
    const started = performance.now();
    await store.wait(mine.intent, 150);
    expect(performance.now() - started).toBeGreaterThanOrEqual(145);
    await expect.poll(subscriptions).toEqual({ channels: 0, subscribers: 0 });
  });

  it('is a timer for those above the bound', async () => {
    const small = await openStore(redis.url, { budgetMs: 2_000, maxWaiters: 1 });
    try {
      const [first, second] = [ask(), ask()];
      await store.claim(first, 9_000);
      await store.claim(second, 9_000);
      const waits = Promise.all([small.wait(first.intent, 300), small.wait(second.intent, 300)]);
      await expect.poll(subscriptions).toEqual({ channels: 1, subscribers: 1 });
      await waits;
    } finally {
      small.close();
    }
  });

  it('ends when the store is closed', async () => {
    const closing = await openStore(redis.url, { budgetMs: 2_000 });
    const mine = ask();
    await store.claim(mine, 9_000);
    const wait = closing.wait(mine.intent, 20_000);
    await expect.poll(async () => (await subscriptions()).channels).toBe(1);
    closing.close();
    await wait;
    await expect(closing.claim(mine, 9_000)).rejects.toThrow('Redis cannot be used');
  });
});
