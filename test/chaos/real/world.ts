import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { migrationsFolder } from '../../../src/main/database.ts';
import { Keys, migrate } from '../../../src/postgres/index.ts';
import { type FaultProxy, startProxy } from '../../support/proxy.ts';
import { makeTempDir } from '../../support/temp-dir.ts';
import { startTestPostgres, type TestPostgres } from '../../support/with-postgres.ts';
import { freePort, startTestRedis, type TestRedis } from '../../support/with-redis.ts';
import { startTestSimulator, type TestSimulator } from '../../support/with-simulator.ts';
import { bundleServer } from './bundle.ts';
import { Server } from './server.ts';

/** Short times in the order that the configuration demands. */
const TIMES = {
  PSP_TIMEOUT_MS: '1500',
  CLOCK_DRIFT_MS: '500',
  LOCK_GRACE_MS: '1500',
  RECOVER_AFTER_MS: '4000',
  JOIN_WAIT_MS: '1000',
  DRAIN_MS: '3000',
} as const;
/** Longer than the lock lives. */
export const LONGER_THAN_LOCK_MS = 4_000;

/** One server's ways to the others. */
export interface Ways {
  readonly postgres: FaultProxy;
  readonly redis: FaultProxy;
  readonly psp: FaultProxy;
}

export interface Merchant {
  readonly id: string;
  readonly apiKey: string;
}

/** Everything that runs, and the ways between it. */
export interface World {
  readonly postgres: TestPostgres;
  readonly redis: { readonly primary: TestRedis; readonly replica: TestRedis };
  /** Whether the servers' way to Redis leads to the replica. */
  toReplica: boolean;
  readonly simulator: TestSimulator;
  readonly servers: readonly Server[];
  readonly merchants: readonly Merchant[];
  readonly folder: string;
  waysOf(server: Server): Ways;
  end(): Promise<void>;
}

const MERCHANTS = 3;

export async function startWorld(seed: number, servers: number): Promise<World> {
  const folder = await makeTempDir();
  const [database, primary, replica, simulator] = await Promise.all([
    startTestPostgres({ durable: true }),
    startTestRedis(),
    startTestRedis(),
    startTestSimulator({ seed }),
  ]);
  await follow(replica, primary.port);
  await migrate(database.url, migrationsFolder());
  const merchants = await makeMerchants(database.url);
  const entry = await bundleServer();
  const ways = new Map<Server, Ways>();
  const world = { toReplica: false };
  const made: Server[] = [];
  for (let number = 1; number <= servers; number += 1) {
    const way: Ways = {
      postgres: await startProxy(Number(new URL(database.url).port)),
      redis: await startProxy(() => (world.toReplica ? replica.port : primary.port)),
      psp: await startProxy(Number(new URL(simulator.url).port)),
    };
    const dataDir = join(folder.path, `server-${number}`);
    await mkdir(dataDir);
    const server = new Server({
      name: `server-${number}`,
      entry,
      port: await freePort(),
      logFile: join(folder.path, `server-${number}.log`),
      env: { ...TIMES, DATA_DIR: dataDir, ...places(database.url, way) },
    });
    ways.set(server, way);
    made.push(server);
  }
  await Promise.all(made.map((server) => server.ready()));
  return Object.assign(world, {
    postgres: database,
    redis: { primary, replica },
    simulator,
    servers: made,
    merchants,
    folder: folder.path,
    waysOf: (server: Server) => ways.get(server) as Ways,
    end: async () => {
      await Promise.all(made.map((server) => server.stop()));
      for (const way of ways.values()) {
        await Promise.all(Object.values(way).map((proxy: FaultProxy) => proxy.close()));
      }
      await Promise.all([primary.stop(), replica.stop(), simulator.stop(), database.remove()]);
    },
  });
}

function places(databaseUrl: string, way: Ways): Record<string, string> {
  const url = new URL(databaseUrl);
  url.port = String(way.postgres.port);
  return {
    DATABASE_URL: url.href,
    REDIS_URL: `redis://127.0.0.1:${way.redis.port}`,
    SIMULATOR_URL: `http://127.0.0.1:${way.psp.port}`,
  };
}

async function makeMerchants(url: string): Promise<Merchant[]> {
  const keys = new Keys(url);
  const made: Merchant[] = [];
  for (let number = 1; number <= MERCHANTS; number += 1) {
    const scopes = ['payments:read', 'payments:write'] as const;
    const wanted = { merchant: `merchant-${number}`, name: 'chaos', scopes, expiresAt: null };
    const { merchantId, key } = await keys.create(wanted);
    made.push({ id: merchantId, apiKey: key });
  }
  await keys.close();
  return made;
}

/** @param of the port of a Redis, or null: of none */
export async function follow(redis: TestRedis, of: number | null): Promise<void> {
  const client = redis.client();
  if (of === null) await client.replicaof('NO', 'ONE');
  else await client.replicaof('127.0.0.1', of);
  client.disconnect();
}

/** A connection for looking, past the proxies. */
export function openSql(world: World): postgres.Sql {
  return postgres(world.postgres.url, { max: 2, onnotice: () => {}, connect_timeout: 5 });
}
