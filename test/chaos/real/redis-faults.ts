import type { TestRedis } from '../../support/with-redis.ts';
import { call } from '../../support/with-sentinels.ts';
import type { Held } from './faults.ts';
import type { RedisName } from './redis-world.ts';
import { through } from './server-faults.ts';
import type { World } from './world.ts';

/** Which faults are Redis's alone. */
export const isRedisFault = (cell: string): boolean => /^F[4-8]-/.test(cell);

const SHORT_MS = 700;
/** Longer than sentinels and clusters wait for a node that is silent. */
const LONG_MS = 2_500;

/** What the servers take for the primary is another node from now on. */
async function reconnect(world: World): Promise<void> {
  for (const server of world.servers) {
    const way = world.waysOf(server).redis;
    await way?.set('reset');
    await way?.set('pass');
  }
}

export async function healRedis(world: World): Promise<void> {
  await world.redis.heal();
  await reconnect(world);
}

const flushed: Held = {
  fault: 'F7-redis-flushed',
  points: ['claim', 'T1', 'T1-done', 'T2', 'remember'],
  strike: async ({ redis }) => (await redis.primary()).flush(),
};

const failedOver: Held = {
  fault: 'F8-redis-failover',
  points: ['claim', 'T1', 'remember'],
  shared: 'redis',
  lastsMs: 1_000,
  strike: async (world) => {
    await world.redis.failOver();
    await reconnect(world);
  },
  heal: healRedis,
};

/** One Redis, to which each server has its own way. */
const ONE: readonly Held[] = [
  {
    fault: 'F4-redis-refuses',
    points: ['claim', 'remember'],
    lastsMs: SHORT_MS,
    ...through('redis', 'refuse'),
  },
  {
    fault: 'F5-redis-silent',
    points: ['claim', 'remember'],
    lastsMs: SHORT_MS,
    ...through('redis', 'stall'),
  },
  {
    fault: 'F6-redis-reply-lost',
    points: ['claim', 'remember'],
    lastsMs: 50,
    ...through('redis', 'dropNextReply'),
  },
  flushed,
  failedOver,
  {
    fault: 'F8-redis-read-only',
    points: ['claim', 'remember'],
    shared: 'redis',
    lastsMs: SHORT_MS,
    strike: async (world) => {
      await world.redis.toReadOnly();
      await reconnect(world);
    },
    heal: healRedis,
  },
];

let struck: TestRedis | undefined;

async function onPrimary(world: World, act: (node: TestRedis) => Promise<void>): Promise<void> {
  struck = await world.redis.primary();
  await act(struck);
}

/** Several nodes, whose addresses are their own: they are struck themselves. */
const SEVERAL: readonly Held[] = [
  {
    fault: 'F4-redis-killed',
    points: ['claim', 'T1', 'remember'],
    shared: 'redis',
    strike: (world) => onPrimary(world, (node) => node.kill()),
    heal: async (world) => {
      if (struck !== undefined) await world.redis.untilNot(struck);
      await world.redis.heal();
    },
  },
  {
    fault: 'F5-redis-silent',
    points: ['claim', 'remember'],
    shared: 'redis',
    lastsMs: SHORT_MS / 2,
    strike: (world) => onPrimary(world, async (node) => node.freeze()),
    heal: async () => struck?.thaw(),
  },
  {
    fault: 'F6-redis-cut-off',
    points: ['claim', 'remember'],
    strike: (world) =>
      onPrimary(
        world,
        async (node) => void (await call(node, ['CLIENT', 'KILL', 'TYPE', 'normal'])),
      ),
  },
  flushed,
  failedOver,
  {
    fault: 'F8-redis-two-primaries',
    points: ['claim', 'remember'],
    shared: 'redis',
    lastsMs: LONG_MS,
    strike: (world) => onPrimary(world, async (node) => node.freeze()),
    heal: async (world) => {
      if (struck !== undefined) await world.redis.untilNot(struck);
      struck?.thaw();
      await world.redis.heal();
    },
  },
];

export function redisFaults(redis: RedisName): readonly Held[] {
  return redis === 'plain' ? ONE : SEVERAL;
}
