import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import type { Held } from './faults.ts';
import type { Server } from './server.ts';
import { through } from './server-faults.ts';
import { openSql, type World } from './world.ts';

/** No file of Postgres may grow past this, or be written past it: it is within the first log page. */
const FULL_BYTES = 8_192;

async function asAdministrator(world: World, ...statements: readonly string[]): Promise<void> {
  const sql = openSql(world);
  try {
    for (const statement of statements) await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}

const readOnly = (world: World, on: boolean) =>
  asAdministrator(
    world,
    `alter system set default_transaction_read_only = ${on ? 'on' : 'off'}`,
    'select pg_reload_conf()',
  );

const connections = (world: World, { name }: Server, most: number) =>
  asAdministrator(
    world,
    `alter role "${name}" connection limit ${most}`,
    ...(most === 0
      ? [`select pg_terminate_backend(pid) from pg_stat_activity where usename = '${name}'`]
      : []),
  );

/** The disk takes no more of whatever Postgres writes: its processes meet a limit of the system. */
function fillDisk(world: World): void {
  const { pid } = world.postgres;
  for (const one of [pid, ...childrenOf(pid)]) {
    try {
      execFileSync('prlimit', [`--pid=${one}`, `--fsize=${FULL_BYTES}`], { stdio: 'ignore' });
    } catch {
      // It has ended meanwhile.
    }
  }
}

function childrenOf(parent: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] === `${parent}`
        );
      } catch {
        return false;
      }
    });
}

export async function healPostgres(world: World): Promise<void> {
  await world.postgres.start().catch(() => {});
  await readOnly(world, false);
  for (const server of world.servers) await connections(world, server, -1);
}

export const POSTGRES_FAULTS: readonly Held[] = [
  {
    fault: 'F9-postgres-shutdown',
    points: ['request', 'T1', 'T1-done', 'T2', 'taken-over', 'webhook'],
    shared: 'postgres',
    strike: (world) => world.postgres.immediateStop(),
    heal: (world) => world.postgres.start(),
  },
  {
    fault: 'F10-commit-reply-lost',
    points: ['T1', 'T2', 'taken-over', 'webhook'],
    lastsMs: 100,
    ...through('postgres', 'dropNextReply'),
  },
  {
    fault: 'F11-postgres-silent',
    points: ['request', 'T1', 'T2', 'taken-over', 'webhook'],
    lastsMs: 2_500,
    ...through('postgres', 'stall'),
  },
  {
    fault: 'F23-postgres-read-only',
    points: ['T1', 'T2', 'taken-over', 'webhook'],
    shared: 'postgres',
    lastsMs: 700,
    strike: (world) => readOnly(world, true),
    heal: (world) => readOnly(world, false),
  },
  {
    fault: 'F23-no-connections',
    points: ['request', 'T1', 'T2', 'taken-over', 'webhook'],
    shared: 'postgres',
    lastsMs: 1_500,
    strike: (world, server) => connections(world, server, 0),
    heal: (world, server) => connections(world, server, -1),
  },
  {
    fault: 'F23-disk-full',
    points: ['T1', 'T2', 'webhook'],
    shared: 'postgres',
    lastsMs: 1_000,
    strike: async (world) => fillDisk(world),
    heal: async (world) => {
      await world.postgres.immediateStop();
      await world.postgres.start();
    },
  },
];
