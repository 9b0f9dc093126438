import { setTimeout as sleep } from 'node:timers/promises';
import { type Action, POINTS, type Point, stepOf } from './points.ts';
import type { Random } from './random.ts';
import type { Server } from './server.ts';
import { follow, LONGER_THAN_LOCK_MS, openSql, type World } from './world.ts';

/** One cell of the fault matrix: a fault that falls while a server is at a point. */
export interface Cell {
  /** Such as `F9-T1`: the fault of the matrix and the point. */
  readonly id: string;
  readonly point: Point;
  /** What the server does to itself when it gets there. */
  readonly action: Action;
  /** True if it changes what all servers share; one such fault at a time. */
  readonly shared: boolean;
  /** Changes the world while the request is held. */
  strike(world: World, server: Server, random: Random): Promise<void>;
  /** Ends the fault. */
  heal(world: World, server: Server): Promise<void>;
}

interface Held {
  readonly fault: string;
  readonly points: readonly Point[];
  readonly shared?: boolean;
  readonly lastsMs?: number;
  strike(world: World, server: Server, random: Random): Promise<void>;
  heal?(world: World, server: Server): Promise<void>;
}

const nothing = async (): Promise<void> => {};
const EXECUTED = ['hang', 'reset', 'truncate', 'garbage', 'empty', '500', '503'] as const;
const NOT_EXECUTED = [
  'fail_before_500',
  'fail_before_503',
  'rate_limited',
  'status_502',
  'hang_before',
] as const;
const KINDS = ['charge', 'authorize', 'capture', 'void', 'refund'] as const;

const way = (
  which: 'postgres' | 'redis' | 'psp',
  mode: Parameters<ReturnType<World['waysOf']>['redis']['set']>[0],
) => ({
  strike: (world: World, server: Server) => world.waysOf(server)[which].set(mode),
  heal: (world: World, server: Server) => world.waysOf(server)[which].set('pass'),
});

async function redirectRedis(world: World, toReplica: boolean): Promise<void> {
  world.toReplica = toReplica;
  for (const server of world.servers) {
    await world.waysOf(server).redis.set('reset');
    await world.waysOf(server).redis.set('pass');
  }
}

async function backToPrimary(world: World): Promise<void> {
  await follow(world.redis.replica, world.redis.primary.port);
  await redirectRedis(world, false);
}

async function readOnly(world: World, on: boolean): Promise<void> {
  const sql = openSql(world);
  try {
    await sql.unsafe(`alter system set default_transaction_read_only = ${on ? 'on' : 'off'}`);
    await sql.unsafe('select pg_reload_conf()');
  } finally {
    await sql.end();
  }
}

/** A scenario for one more request of every kind, so that whatever is held meets it. */
async function scenario(world: World, behaviour: string): Promise<void> {
  for (const kind of KINDS) await world.simulator.scenario({ behaviour, match: { kind } });
}

const HELD: readonly Held[] = [
  {
    fault: 'F4-redis-refuses',
    points: ['claim', 'remember'],
    lastsMs: 700,
    ...way('redis', 'refuse'),
  },
  {
    fault: 'F5-redis-silent',
    points: ['claim', 'remember'],
    lastsMs: 700,
    ...way('redis', 'stall'),
  },
  {
    fault: 'F6-redis-reply-lost',
    points: ['claim', 'remember'],
    lastsMs: 50,
    ...way('redis', 'dropNextReply'),
  },
  {
    fault: 'F7-redis-flushed',
    points: ['claim', 'T1', 'T1-done', 'T2', 'remember'],
    strike: (world) => world.redis.primary.flush(),
  },
  {
    fault: 'F8-redis-failover',
    points: ['claim', 'T1', 'remember'],
    shared: true,
    lastsMs: 1_000,
    strike: async (world) => {
      await follow(world.redis.replica, null);
      await redirectRedis(world, true);
    },
    heal: backToPrimary,
  },
  {
    fault: 'F8-redis-read-only',
    points: ['claim', 'remember'],
    shared: true,
    lastsMs: 700,
    strike: (world) => redirectRedis(world, true),
    heal: backToPrimary,
  },
  {
    fault: 'F9-postgres-shutdown',
    points: ['request', 'T1', 'T1-done', 'T2', 'taken-over'],
    shared: true,
    strike: (world) => world.postgres.immediateStop(),
    heal: (world) => world.postgres.start(),
  },
  {
    fault: 'F10-commit-reply-lost',
    points: ['T1', 'T2', 'taken-over'],
    lastsMs: 100,
    ...way('postgres', 'dropNextReply'),
  },
  {
    fault: 'F11-postgres-silent',
    points: ['request', 'T1', 'T2', 'taken-over'],
    lastsMs: 2_500,
    ...way('postgres', 'stall'),
  },
  {
    fault: 'F13-psp-refuses',
    points: ['T1-done', 'taken-over'],
    lastsMs: 500,
    ...way('psp', 'refuse'),
  },
  {
    fault: 'F14-psp-reply-lost',
    points: ['T1-done', 'taken-over'],
    lastsMs: 50,
    ...way('psp', 'dropNextReply'),
  },
  {
    fault: 'F14-psp-executes-badly',
    points: ['T1-done'],
    strike: (world, _server, random) => scenario(world, `execute_then_${random.one(EXECUTED)}`),
  },
  {
    fault: 'F15-psp-does-not-execute',
    points: ['T1-done'],
    strike: (world, _server, random) => scenario(world, random.one(NOT_EXECUTED)),
  },
  {
    fault: 'F15-psp-look-up-fails',
    points: ['taken-over'],
    strike: (world) =>
      world.simulator.scenario({ behaviour: 'status_500', match: { kind: 'lookup' }, times: 3 }),
  },
  {
    fault: 'F16-psp-late',
    points: ['T1-done', 'taken-over'],
    lastsMs: 2_000,
    ...way('psp', 'stall'),
  },
  {
    fault: 'F18-look-up-lags',
    points: ['taken-over'],
    lastsMs: 3_000,
    strike: (world) => world.simulator.settings({ lookupLagMs: 3_000 }),
    heal: (world) => world.simulator.settings({ lookupLagMs: 0 }),
  },
  {
    fault: 'F23-postgres-read-only',
    points: ['T1', 'T2', 'taken-over'],
    shared: true,
    lastsMs: 700,
    strike: (world) => readOnly(world, true),
    heal: (world) => readOnly(world, false),
  },
];

function heldCells({ fault, points, shared = false, lastsMs = 0, strike, heal = nothing }: Held) {
  return points.map(
    (point): Cell => ({
      id: `${fault}@${point}`,
      point,
      action: 'hold',
      shared,
      strike,
      heal: async (world, server) => {
        await sleep(lastsMs);
        await heal(world, server);
      },
    }),
  );
}

function killed(point: Point): Cell {
  return {
    id: `F1-killed@${point}`,
    point,
    action: 'kill',
    shared: false,
    strike: nothing,
    heal: nothing,
  };
}

function stopped(point: Point): Cell {
  const heal = async (_world: World, server: Server) => {
    await sleep(LONGER_THAN_LOCK_MS);
    server.signal('SIGCONT');
  };
  return { id: `F2-stopped@${point}`, point, action: 'stop', shared: false, strike: nothing, heal };
}

const blocked = (point: Point): Cell => ({
  ...killed(point),
  id: `F3-busy@${point}`,
  action: 'block',
});

/** Death at every point; a stand-still and a busy process where something is owned. */
export const KILLS: readonly Cell[] = POINTS.map(killed);
export const CELLS: readonly Cell[] = [
  ...KILLS,
  ...POINTS.filter((point) => stepOf(point) !== 'A').map(stopped),
  ...(['claimed', 'T1-done', 'psp-answer', 'T2-done', 'taken-over'] as const).map(blocked),
  ...HELD.flatMap(heldCells),
];

/** Ends whatever may still be wrong with the world. */
export async function healAll(world: World): Promise<void> {
  await world.postgres.start().catch(() => {});
  for (const server of world.servers) {
    server.signal('SIGCONT');
    for (const proxy of Object.values(world.waysOf(server))) await proxy.set('pass');
  }
  await readOnly(world, false);
  await backToPrimary(world);
  await world.simulator.settings({ lookupLagMs: 0 });
}
