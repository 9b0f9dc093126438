import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../e2e/world.ts';
import { eventually, freshKey, paid, pay } from '../support/pay.ts';
import type { TestRedis } from '../support/with-redis.ts';
import { startTestRedisCluster } from '../support/with-redis-cluster.ts';
import { call, startTestSentinels } from '../support/with-sentinels.ts';
import type { TestServer } from '../support/with-server.ts';

/** Several nodes of which some are primaries; which, it can be asked and made to change. */
interface Topology {
  readonly url: string;
  primaries(): Promise<readonly TestRedis[]>;
  /** In good order, or by the death of the primary. @returns once another has its place */
  failOver(primary: TestRedis): Promise<unknown>;
  untilNot(primary: TestRedis): Promise<unknown>;
  stop(): Promise<void>;
}

async function sentinels(): Promise<Topology> {
  const set = await startTestSentinels();
  return { ...set, primaries: async () => [await set.primary()] };
}

const PAYMENTS = 12;

async function paymentOf(server: TestServer, key: string): Promise<string | undefined> {
  const reply = await eventually(
    () => pay(server, key),
    ({ body }) => body.data != null,
  );
  return paid(reply).payment?.id;
}

describe.each([
  ['under sentinels', sentinels],
  ['in a cluster', startTestRedisCluster],
])('Redis %s', (_name, start) => {
  let world: World;
  let redis: Topology;
  let servers: readonly TestServer[];

  beforeAll(async () => {
    [world, redis] = await Promise.all([startWorld(), start()]);
    const env = { REDIS_URL: redis.url, LOG_LEVEL: 'debug' };
    servers = [await world.server(env), await world.server(env)];
  }, 120_000);

  afterAll(async () => {
    await world.end();
    await redis.stop();
  }, 60_000);

  const keysThere = async () => {
    const sizes = (await redis.primaries()).map((node) => call(node, ['DBSIZE']));
    return (await Promise.all(sizes)).reduce<number>((sum, size) => sum + Number(size), 0);
  };

  /** Each key at both servers at once, again and again until both have the answer. */
  async function payEverywhere(): Promise<void> {
    const keys = Array.from({ length: PAYMENTS }, freshKey);
    const ids = await Promise.all(
      keys.map((key) => Promise.all(servers.map((server) => paymentOf(server, key)))),
    );
    for (const [one, other] of ids) expect(other).toBe(one);
    expect(new Set(ids.flat()).size).toBe(PAYMENTS);
    for (const key of keys) expect(await world.executions(key)).toHaveLength(1);
  }

  /** Redis takes part (again): what is paid leaves an answer there. */
  async function isUsed(): Promise<void> {
    await eventually(
      async () => {
        const before = await keysThere();
        for (const server of servers) await pay(server, freshKey());
        return (await keysThere()) - before;
      },
      (more) => more >= servers.length,
    );
  }

  it('keeps answers for other servers', async () => {
    await payEverywhere();
    await isUsed();
  }, 60_000);

  it('fails over while payments are made: each is executed once, and Redis is used again', async () => {
    const [old] = await redis.primaries();
    await Promise.all([redis.failOver(old as TestRedis), payEverywhere(), payEverywhere()]);
    expect(await redis.primaries()).not.toContain(old);
    await isUsed();
  }, 90_000);

  it('loses its primary while payments are made: the same', async () => {
    const [old] = await redis.primaries();
    await old?.kill();
    await Promise.all([redis.untilNot(old as TestRedis), payEverywhere(), payEverywhere()]);
    expect(await redis.primaries()).not.toContain(old);
    await payEverywhere();
    await isUsed();
  }, 90_000);

  it('was never asked for keys of two slots at once', () => {
    for (const server of servers) {
      expect(server.output()).toContain('listens on');
      expect(server.output()).not.toMatch(/CROSSSLOT|unhandled/i);
    }
  });
});
