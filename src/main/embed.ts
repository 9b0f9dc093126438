import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Config } from './config.ts';
import { secretsIn } from './psp.ts';

/** Where the parts are that a server needs, whoever runs them. */
export interface Parts {
  readonly databaseUrl: string;
  /** Undefined: the first door is in this process's memory. */
  readonly redisUrl: string | undefined;
  /** Undefined if the PSP is another one. */
  readonly simulatorUrl: string | undefined;
  /** What the simulator signs webhooks with; the first one is the present one. */
  readonly simulatorSecrets: string[];
  /** True if the simulator is ours, and is to be told where to send webhooks. */
  readonly ownSimulator: boolean;
  /** What keeps signing secrets of merchants' endpoints unreadable; the first one is the present one. */
  readonly webhookKeys: string[];
  /** The key of the demo merchant, if there is to be one. */
  readonly demoApiKey: string | undefined;
  /** True if the database is ours, and nobody else migrates it. */
  readonly ownDatabase: boolean;
  /** Ends what was started here. */
  stop(): Promise<void>;
}

/** Loaded where a part is missing only. */
const embedded = () => import('../embedded/index.ts');

type Say = (line: string) => void;
type Stop = () => Promise<void>;

/**
 * Starts each part that the environment does not name: Postgres with its data in DATA_DIR, a private
 * Redis if there is one on the PATH, and the PSP simulator.
 */
export async function embedMissing(config: Config, say: Say): Promise<Parts> {
  const folder = resolve(config.DATA_DIR);
  const stops: Stop[] = [];
  let stopping = false;
  const ended = (what: string) => () => {
    if (!stopping) say(`${what} has ended. Stop this server and start it again.`);
  };
  const stop = async () => {
    stopping = true;
    await Promise.all(stops.map((end) => end()));
  };
  try {
    const [databaseUrl, redisUrl, simulatorUrl] = await Promise.all([
      config.DATABASE_URL ?? embedPostgres(folder, say, stops, ended('The embedded Postgres')),
      config.REDIS_URL ?? embedRedis(config, folder, say, stops, ended('The embedded Redis')),
      config.PSP === 'simulator'
        ? (config.SIMULATOR_URL ??
          embedSimulator(folder, say, stops, ended('The embedded PSP simulator')))
        : undefined,
    ]);
    const ownDatabase = config.DATABASE_URL === undefined;
    const ownSimulator = config.PSP === 'simulator' && config.SIMULATOR_URL === undefined;
    const given = secretsIn(config.SIMULATOR_WEBHOOK_SECRET);
    const simulatorSecrets = ownSimulator && given.length === 0 ? [newSecret()] : given;
    const demoApiKey =
      config.DEMO_API_KEY ??
      (ownDatabase ? await kept(folder, 'demo-api-key', newDemoKey) : undefined);
    const webhookKeys = secretsIn(config.WEBHOOK_SECRET_KEY);
    if (ownDatabase && webhookKeys.length === 0) {
      webhookKeys.push(await kept(folder, 'webhook-secret-key', newSealingKey));
    }
    return {
      databaseUrl,
      redisUrl,
      simulatorUrl,
      simulatorSecrets,
      ownSimulator,
      webhookKeys,
      demoApiKey,
      ownDatabase,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function embedPostgres(
  folder: string,
  say: Say,
  stops: Stop[],
  ended: () => void,
): Promise<string> {
  const dataDir = join(folder, 'postgres');
  const { startPostgres } = await embedded();
  const postgres = await startPostgres({ dataDir, log: say });
  stops.push(() => postgres.stop());
  postgres.onExit(ended);
  say(`Postgres: embedded, data in ${dataDir}`);
  return postgres.url;
}

async function embedRedis(
  config: Config,
  folder: string,
  say: Say,
  stops: Stop[],
  ended: () => void,
): Promise<string | undefined> {
  const { startRedis } = await embedded();
  const redis =
    config.NODE_ENV === 'production'
      ? undefined
      : await startRedis({ dir: join(folder, 'redis'), log: say });
  if (redis === undefined) {
    say('Redis: none; locks and cached answers are in this process (one process only)');
    return undefined;
  }
  stops.push(() => redis.stop());
  redis.onExit(ended);
  say(`Redis: embedded (${redis.kind})`);
  return redis.url;
}

async function embedSimulator(
  folder: string,
  say: Say,
  stops: Stop[],
  ended: () => void,
): Promise<string> {
  const dataDir = join(folder, 'simulator');
  await mkdir(dataDir, { recursive: true });
  const { nodeEntry, startChild } = await embedded();
  const { command, args } = nodeEntry(import.meta.url, '../simulator/process');
  const flags = ['--parent-pipe', '--data-dir', dataDir];
  const simulator = await startChild({ command, args: [...args, ...flags] });
  stops.push(() => simulator.stop());
  simulator.onExit(ended);
  say(`PSP simulator: embedded, ${simulator.url}`);
  return simulator.url;
}

/** For a simulator that lives as long as this server: nobody else need know it. */
const newSecret = () => `whsec_${randomBytes(24).toString('base64')}`;

const newDemoKey = () => `sk_demo_${randomBytes(18).toString('base64url')}`;
const newSealingKey = () => randomBytes(32).toString('base64');

/** A key that outlives the process: what was saved with it works tomorrow. */
async function kept(folder: string, name: string, make: () => string): Promise<string> {
  const path = join(folder, name);
  const there = await readFile(path, 'utf8').catch(() => '');
  if (there.trim() !== '') return there.trim();
  const key = make();
  await mkdir(folder, { recursive: true });
  await writeFile(path, `${key}\n`, { mode: 0o600 });
  return key;
}
