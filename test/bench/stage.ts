import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import postgres from 'postgres';
import { type RunningPostgres, startPostgres } from '../../src/embedded/index.ts';
import { makeTempDir } from '../support/temp-dir.ts';
import { startTestRedis } from '../support/with-redis.ts';
import { type Child, ROOT, startChild } from './children.ts';

/** What all that is measured shares: one Postgres, one Redis, and, for each set, one PSP. */
export interface Stage {
  readonly postgres: RunningPostgres;
  readonly redisPid: number;
  /** @returns the URL of a new, empty database */
  createDatabase(name: string): Promise<string>;
  dropDatabase(name: string): Promise<void>;
  redisUrl(database: number): string;
  flush(database: number): Promise<void>;
  flushAll(): Promise<void>;
  startPsp(): Promise<Child>;
  version(): Promise<{ readonly postgres: string; readonly redis: string }>;
  stop(): Promise<void>;
}

/** As safe as in production, and large enough that nothing is measured but work. */
const SETTINGS = { max_connections: '300', shared_buffers: '1GB', max_wal_size: '8GB' };

export async function openStage(): Promise<Stage> {
  const folder = await makeTempDir();
  const [cluster, redis] = await Promise.all([
    startPostgres({ dataDir: join(folder.path, 'postgres'), settings: SETTINGS }),
    startTestRedis(),
  ]);
  const sql = postgres(cluster.url, { max: 1, onnotice: () => {} });
  const admin = new Redis(redis.url);
  let psps = 0;
  return {
    postgres: cluster,
    redisPid: redis.pid,
    createDatabase: async (name) => {
      await sql.unsafe(`create database ${name}`);
      return Object.assign(new URL(cluster.url), { pathname: `/${name}` }).href;
    },
    dropDatabase: async (name) => {
      await sql.unsafe(`drop database if exists ${name} with (force)`);
    },
    redisUrl: (database) => `${redis.url}/${database}`,
    flush: async (database) => {
      await admin.select(database);
      await admin.flushdb();
    },
    flushAll: async () => {
      await admin.flushall();
    },
    startPsp: async () => {
      psps += 1;
      return startPsp(join(folder.path, `psp-${psps}`));
    },
    version: async () => ({
      postgres: ((await sql`show server_version`)[0]?.['server_version'] as string) ?? '',
      redis: /redis_version:(\S+)/.exec(await admin.info('server'))?.[1] ?? '',
    }),
    stop: async () => {
      admin.disconnect();
      await sql.end();
      await redis.stop();
      await cluster.stop();
      await folder.remove();
    },
  };
}

/** A PSP with empty books; they go with it. */
async function startPsp(dataDir: string): Promise<Child> {
  const args = [join(ROOT, 'dist/simulator/process.js'), '--parent-pipe', '--data-dir', dataDir];
  const child = await startChild(args, {}, /"url":"([^"]+)"/);
  return {
    ...child,
    stop: async () => {
      await child.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

export interface Execution {
  readonly reference: string;
  readonly idempotencyKey: string;
}

/** The PSP's own books. */
export async function executionsAt(psp: Child): Promise<readonly Execution[]> {
  return (await fetch(`${psp.url}/admin/executions`)).json() as Promise<Execution[]>;
}
