import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import postgres from 'postgres';
import { migrationsFolder } from '../../../src/main/database.ts';
import { Keys, migrate } from '../../../src/postgres/administration.ts';
import { type FaultProxy, startProxy } from '../../support/proxy.ts';
import { makeTempDir, type TempDir } from '../../support/temp-dir.ts';
import { startTestPostgres, type TestPostgres } from '../../support/with-postgres.ts';
import { freePort } from '../../support/with-redis.ts';
import { beginAudit } from './audit.ts';
import { bundleServer } from './bundle.ts';
import type { Door } from './client.ts';
import { Clock, findFaketime } from './clock.ts';
import { CARDS, WORDS } from './orders.ts';
import { type Merchant, TIMES, type Ways } from './places.ts';
import { PROFILES, type ProfileName, PspWorld } from './psp-world.ts';
import { type RedisName, type RedisWorld, startRedisWorld } from './redis-world.ts';
import { Canaries } from './secrets.ts';
import { Sends } from './sends.ts';
import { Server } from './server.ts';

export interface WorldOptions {
  readonly seed: number;
  readonly servers: number;
  readonly redis: RedisName;
  readonly profile: ProfileName;
}

/** Everything that runs, and the ways between it. */
export interface World {
  readonly postgres: TestPostgres;
  readonly redis: RedisWorld;
  readonly psp: PspWorld;
  readonly servers: readonly Server[];
  /** Where clients ask, one for each server. */
  readonly doors: readonly Door[];
  readonly merchants: readonly Merchant[];
  readonly canaries: Canaries;
  readonly sends: Sends;
  /** Of the logs and the history. */
  readonly folder: TempDir;
  /** False: no clock can jump here. */
  readonly clocks: boolean;
  waysOf(server: Server): Ways;
  /** Ten times as many clients, at once; returns soon. */
  rush: () => Promise<void>;
  end(): Promise<void>;
}

const MERCHANTS = 3;
const MOST_CONNECTIONS = '80';

export async function startWorld(options: WorldOptions): Promise<World> {
  const folder = await makeTempDir();
  const settings = { max_connections: MOST_CONNECTIONS };
  const [database, redis, bundle, ports] = await Promise.all([
    startTestPostgres({ durable: true, settings }),
    startRedisWorld(options.redis),
    bundleServer(),
    Promise.all(Array.from({ length: options.servers }, freePort)),
  ]);
  let turn = 0;
  const anyServer = await startProxy(() => ports[turn++ % ports.length] as number);
  const secret = `whsec_${randomBytes(24).toString('base64')}`;
  const profile = PROFILES[options.profile];
  const psp = await PspWorld.open(
    { seed: options.seed, folder: folder.path, profile },
    {
      url: `http://127.0.0.1:${anyServer.port}/webhooks/simulator`,
      secret,
      delayMs: 1_500,
      order: 'shuffle',
    },
  );
  await migrate(database.url, migrationsFolder());
  const merchants = await makeMerchants(database.url);
  const canaries = canariesOf(secret, merchants);
  const library = findFaketime();
  const sends = new Sends(join(folder.path, 'sends.jsonl'));
  const built = { database, redis, psp, sends };
  const secrets = { secret, canaries };
  const made = await makeServers(built, {
    folder: folder.path,
    entry: bundle.entry,
    ports,
    library,
    profile,
    ...secrets,
  });
  const servers = made.map(({ server }) => server);
  await Promise.all(servers.map((server) => server.ready()));
  const waysOf = new Map(made.map(({ server, ways }) => [server, ways]));
  return {
    postgres: database,
    redis,
    psp,
    servers,
    doors: made.map(({ server: { name }, ways }) => {
      return { name, url: `http://127.0.0.1:${ways.clients.port}` };
    }),
    merchants,
    canaries,
    sends,
    folder,
    clocks: library !== undefined,
    rush: async () => {},
    waysOf: (server) => waysOf.get(server) as Ways,
    end: async () => {
      await Promise.all(servers.map((server) => server.stop()));
      const proxies = made.flatMap(({ ways }) => proxiesOf(ways));
      await Promise.all([anyServer, ...proxies].map((proxy) => proxy.close()));
      await Promise.all([redis.stop(), psp.stop(), database.remove(), bundle.remove()]);
    },
  };
}

/** What must be in no answer, no log and no table. */
function canariesOf(secret: string, merchants: World['merchants']): Canaries {
  const canaries = new Canaries();
  for (const card of CARDS) canaries.plant('a card number', card);
  canaries.plant('words of a merchant', WORDS);
  canaries.plant('the signing secret of webhooks', secret.slice('whsec_'.length));
  for (const { apiKey } of merchants) canaries.plant('an API key', apiKey);
  return canaries;
}

interface Wanted {
  readonly folder: string;
  readonly entry: string;
  readonly ports: readonly number[];
  readonly library: ReturnType<typeof findFaketime>;
  readonly profile: (typeof PROFILES)[keyof typeof PROFILES];
  readonly secret: string;
  readonly canaries: Canaries;
}

interface Made {
  readonly server: Server;
  readonly ways: Ways;
}

/** A server on each port, with ways of its own to everything else. */
async function makeServers(built: Built, wanted: Wanted): Promise<readonly Made[]> {
  const { folder, entry, library, profile, secret, canaries } = wanted;
  const { database, redis } = built;
  const made: Made[] = [];
  for (const [index, port] of wanted.ports.entries()) {
    const name = `server-${index + 1}`;
    const ways = await makeWays(built, name, port);
    const login = await makeLogin(database.url, name, canaries);
    const home = join(folder, name);
    await mkdir(home);
    const clock = library ? new Clock(library, join(home, 'clock')) : undefined;
    const env = {
      ...TIMES,
      ...profile.adapter,
      PLAYGROUND: 'off',
      DATA_DIR: home,
      DATABASE_URL: `postgres://${login}@127.0.0.1:${ways.postgres.port}/postgres`,
      REDIS_URL: redis.url ?? `redis://127.0.0.1:${ways.redis?.port}`,
      SIMULATOR_URL: `http://127.0.0.1:${ways.psp.port}`,
      SIMULATOR_WEBHOOK_SECRET: secret,
    };
    const logFile = join(folder, `${name}.log`);
    made.push({ server: new Server({ name, entry, port, logFile, env, clock }), ways });
  }
  return made;
}

export const proxiesOf = (ways: Ways): readonly FaultProxy[] =>
  Object.values(ways).filter((way: FaultProxy | undefined) => way !== undefined);

interface Built {
  readonly database: TestPostgres;
  readonly redis: RedisWorld;
  readonly psp: PspWorld;
  readonly sends: Sends;
}

async function makeWays(
  { database, redis, psp, sends }: Built,
  name: string,
  port: number,
): Promise<Ways> {
  return {
    clients: await startProxy(port),
    postgres: await startProxy(Number(new URL(database.url).port)),
    psp: await startProxy(Number(new URL(psp.url).port), sends.of(name)),
    redis: redis.url === undefined ? await startProxy(() => redis.port()) : undefined,
  };
}

/** A login that may only serve. @returns it with its password, as in a URL */
async function makeLogin(url: string, server: string, canaries: Canaries): Promise<string> {
  const password = randomBytes(18).toString('base64url');
  canaries.plant('the password of the database', password);
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  if (server === 'server-1') await beginAudit(sql);
  await sql.unsafe(`create role "${server}" login password '${password}' in role semel_app`);
  await sql.end();
  return `${server}:${password}`;
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

/** A connection for looking, past the proxies. */
export function openSql(world: World): postgres.Sql {
  return postgres(world.postgres.url, { max: 2, onnotice: () => {}, connect_timeout: 5 });
}
