import { setTimeout as sleep } from 'node:timers/promises';
import { LONGER_THAN_LOCK_MS } from './places.ts';
import { type Action, POINTS, type Point, stepOf } from './points.ts';
import { healPostgres, POSTGRES_FAULTS } from './postgres-faults.ts';
import { healPsp, PSP_FAULTS } from './psp-faults.ts';
import type { Random } from './random.ts';
import { healRedis, redisFaults } from './redis-faults.ts';
import type { RedisName } from './redis-world.ts';
import type { Server } from './server.ts';
import { SERVER_FAULTS } from './server-faults.ts';
import { proxiesOf, type World } from './world.ts';

/** One cell of the fault matrix: a fault that falls while a server is at a point. */
export interface Cell {
  /** Such as `F9-postgres-shutdown@T1`: the fault of the matrix and the point. */
  readonly id: string;
  readonly fault: string;
  readonly point: Point;
  /** What the server does to itself when it gets there. */
  readonly action: Action;
  /** What it changes of that which all servers share; one fault of a name at a time. */
  readonly shared: string | undefined;
  /** Changes the world while the request is held. */
  strike(world: World, server: Server, random: Random): Promise<void>;
  /** Ends the fault. */
  heal(world: World, server: Server): Promise<void>;
}

/** A fault that is made while a request is held at one of some points. */
export interface Held {
  readonly fault: string;
  readonly points: readonly Point[];
  readonly shared?: string;
  readonly lastsMs?: number;
  strike(world: World, server: Server, random: Random): Promise<void>;
  heal?(world: World, server: Server): Promise<void>;
}

const nothing = async (): Promise<void> => {};

function heldCells({ fault, points, shared, lastsMs = 0, strike, heal = nothing }: Held) {
  return points.map(
    (point): Cell => ({
      id: `${fault}@${point}`,
      fault,
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

const cell = (fault: string, point: Point, action: Action, heal: Cell['heal'] = nothing): Cell => ({
  id: `${fault}@${point}`,
  fault,
  point,
  action,
  shared: undefined,
  strike: nothing,
  heal,
});

const killed = (point: Point): Cell => cell('F1-killed', point, 'kill');

const stopped = (point: Point): Cell =>
  cell('F2-stopped', point, 'stop', async (_world, server) => {
    await sleep(LONGER_THAN_LOCK_MS);
    server.signal('SIGCONT');
  });

const blocked = (point: Point): Cell => cell('F3-busy', point, 'block');

/** Death at every point. */
export const KILLS: readonly Cell[] = POINTS.map(killed);

/** All cells: also a stand-still and a busy process where something is owned, and what is held. */
export function cellsFor(redis: RedisName): readonly Cell[] {
  return [
    ...KILLS,
    ...POINTS.filter((point) => stepOf(point) !== 'A').map(stopped),
    ...(['claimed', 'T1-done', 'psp-answer', 'T2-done', 'taken-over'] as const).map(blocked),
    cell('F1-drained', 'draining', 'nothing'),
    ...[...redisFaults(redis), ...POSTGRES_FAULTS, ...PSP_FAULTS, ...SERVER_FAULTS].flatMap(
      heldCells,
    ),
  ];
}

/** Death at every point, and every other fault at one of its points. */
export function fewCells(all: readonly Cell[], random: Random): readonly Cell[] {
  const others = new Map<string, Cell[]>();
  for (const one of all) {
    if (one.action !== 'kill') others.set(one.fault, [...(others.get(one.fault) ?? []), one]);
  }
  return [
    ...all.filter(({ action }) => action === 'kill'),
    ...[...others.values()].map((cells) => random.one(cells)),
  ];
}

/** Ends whatever may still be wrong with the world. */
export async function healAll(world: World): Promise<void> {
  for (const server of world.servers) {
    server.signal('SIGCONT');
    server.clock?.set(0);
    for (const proxy of proxiesOf(world.waysOf(server))) await proxy.set('pass');
  }
  await healPostgres(world);
  await healRedis(world);
  await healPsp(world);
}
