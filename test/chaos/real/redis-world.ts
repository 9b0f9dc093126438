import { setTimeout as sleep } from 'node:timers/promises';
import { startTestRedis, type TestRedis } from '../../support/with-redis.ts';
import { startTestRedisCluster } from '../../support/with-redis-cluster.ts';
import { call, startTestSentinels } from '../../support/with-sentinels.ts';

export const REDIS_NAMES = ['plain', 'sentinel', 'cluster'] as const;
export type RedisName = (typeof REDIS_NAMES)[number];

/** The Redis of a run, and what can befall it beyond what a way to it can do. */
export interface RedisWorld {
  readonly name: RedisName;
  /** Undefined: each server has a way of its own to `port()`. */
  readonly url: string | undefined;
  readonly nodes: readonly TestRedis[];
  /** Where the servers' ways lead now. */
  port(): number;
  /** The node that has the data now; of a cluster any of those. */
  primary(): Promise<TestRedis>;
  /** Another node takes over in good order. */
  failOver(): Promise<void>;
  /** What a primary was that died or was silent for too long: until another took its place. */
  untilNot(old: TestRedis): Promise<void>;
  /** A replica is taken for the primary, and refuses to write. */
  toReadOnly(): Promise<void>;
  /** All nodes run and belong together again. */
  heal(): Promise<void>;
  stop(): Promise<void>;
}

export async function startRedisWorld(name: RedisName): Promise<RedisWorld> {
  switch (name) {
    case 'plain':
      return plain();
    case 'sentinel':
      return sentinels();
    case 'cluster':
      return cluster();
  }
}

async function plain(): Promise<RedisWorld> {
  const [primary, replica] = await Promise.all([startTestRedis(), startTestRedis()]);
  await follow(replica, primary);
  let now = primary;
  return {
    name: 'plain',
    url: undefined,
    nodes: [primary, replica],
    port: () => now.port,
    primary: async () => primary,
    failOver: async () => {
      await call(replica, ['REPLICAOF', 'NO', 'ONE']);
      now = replica;
    },
    untilNot: async () => {},
    toReadOnly: async () => {
      now = replica;
    },
    heal: async () => {
      now = primary;
      await follow(replica, primary);
    },
    stop: async () => {
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
}

async function sentinels(): Promise<RedisWorld> {
  const set = await startTestSentinels();
  return {
    name: 'sentinel',
    ...set,
    port: () => 0,
    failOver: async () => void (await set.failOver()),
    untilNot: async (old) => void (await set.untilNot(old)),
    toReadOnly: async () => {},
    heal: async () => {
      for (const node of set.nodes) await revive(node);
      const primary = await set.primary();
      // Sentinels do the same after ten seconds or so.
      for (const node of set.nodes) if (node !== primary) await follow(node, primary);
      await set.whole();
    },
  };
}

async function cluster(): Promise<RedisWorld> {
  const set = await startTestRedisCluster();
  let turn = 0;
  const primary = async () => {
    const all = await set.primaries();
    turn += 1;
    return all[turn % all.length] as TestRedis;
  };
  return {
    name: 'cluster',
    ...set,
    port: () => 0,
    primary,
    failOver: async () => void (await set.failOver(await primary())),
    toReadOnly: async () => {},
    heal: async () => {
      for (const node of set.nodes) await revive(node);
      await set.whole();
    },
  };
}

async function revive(node: TestRedis): Promise<void> {
  try {
    node.thaw();
    await call(node, ['PING']);
  } catch {
    await node.restart();
  }
}

async function follow(replica: TestRedis, primary: TestRedis): Promise<void> {
  await call(replica, ['REPLICAOF', '127.0.0.1', String(primary.port)]);
  await sleep(50);
}
