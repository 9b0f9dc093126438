import { dirname, join } from 'node:path';
import { buildSchema, fileInPackage, GraphQLServer, type Services } from '../graphql/index.ts';
import { GraphQLEndpoint, HttpServer, Limits, Metrics, Pages } from '../http/index.ts';
import { MemoryStore, type Store } from '../idempotency/index.ts';
import {
  Database,
  Identities,
  migrationsIn,
  openWork,
  PostgresJournal,
  PostgresPaymentReader,
  whyNotReady,
} from '../postgres/index.ts';
import { createPsp } from '../psp/index.ts';
import { checkRedis, connectRedis, RedisStore } from '../redis/index.ts';
import { startRecovery } from '../workers/index.ts';
import type { Config } from './config.ts';
import type { Parts } from './embed.ts';
import type { Log } from './log.ts';

/** A server that listens. */
export interface Running {
  readonly url: string;
  readonly playground: string | undefined;
  /** Takes no new work, lets sends finish, leaves the rest to recovery. False if the time ran out. */
  drain(): Promise<boolean>;
}

/** Limits in ms, and a number of entries. */
const STATEMENT_MS = 2_000;
const MOST_OPEN_BUDGET_MS = 3_000;
const MOST_SETTLE_BUDGET_MS = 5_000;
const SEND_SPARE_MS = 1_000;
const RECOVERY = { everyMs: 1_000, limit: 100 } as const;
const REDIS_READY_MS = 2_000;
const USUAL_PORT = 4_000;

export const migrationsFolder = (): string =>
  dirname(dirname(fileInPackage('drizzle/meta/_journal.json')));

export function openDatabase(config: Config, url: string, onSuspicion: (why: string) => void) {
  return new Database({
    url,
    poolMax: config.DATABASE_POOL_MAX,
    statementMs: STATEMENT_MS,
    onSuspicion,
  });
}

/** The journal with the times that the configuration gives it. */
export function openJournal(config: Config, database: Database): PostgresJournal {
  return new PostgresJournal(database, {
    leaseMs: config.lockTtlMs,
    recoverAfterMs: config.RECOVER_AFTER_MS,
    // One look-up and one send, each with its own deadline.
    recoveryLeaseMs: 2 * config.PSP_TIMEOUT_MS + config.CLOCK_DRIFT_MS + config.LOCK_GRACE_MS,
    openBudgetMs: openBudgetMs(config),
    settleBudgetMs: Math.min(MOST_SETTLE_BUDGET_MS, config.LOCK_GRACE_MS + config.CLOCK_DRIFT_MS),
  });
}

/** T1 may take what the lease holds beyond the send and its spare time. */
function openBudgetMs({ lockTtlMs, PSP_TIMEOUT_MS }: Config): number {
  return Math.min(MOST_OPEN_BUDGET_MS, lockTtlMs - PSP_TIMEOUT_MS - SEND_SPARE_MS);
}

/** Without PORT the usual port is taken, or else any that is free. @returns the address as a URL */
async function listen(http: HttpServer, { HOST, PORT }: Config): Promise<string> {
  const on = (port: number) =>
    http.listen(HOST, port).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
      return undefined;
    });
  const address = (await on(PORT ?? USUAL_PORT)) ?? (PORT === undefined ? await on(0) : undefined);
  if (address === undefined) {
    throw new Error(`PORT is ${PORT}, and another process listens there; accepted: a free port.`);
  }
  const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  return `http://${host}:${address.port}`;
}

/** Where everything meets: builds each room's part, wires them, and listens. */
export async function compose(config: Config, parts: Parts, log: Log): Promise<Running> {
  const metrics: Metrics = new Metrics(() => openWork(database));
  const database = openDatabase(config, parts.databaseUrl, (why) => {
    metrics.poolReplaced.inc();
    log.warn({ why }, 'the database pool was replaced');
  });
  const journal = openJournal(config, database);
  const reader = new PostgresPaymentReader(database, openBudgetMs(config));
  const psp = createPsp(config.PSP, { url: parts.simulatorUrl, timeoutMs: config.PSP_TIMEOUT_MS });
  const onStoreError = () => metrics.storeErrors.inc();
  const { store, closeStore } = await openStore(parts.redisUrl, log, onStoreError);

  const services: Services = {
    journal,
    reader,
    psp,
    now: () => performance.now(),
    leaseMs: config.lockTtlMs,
    pspTimeoutMs: config.PSP_TIMEOUT_MS,
    answerTtlMs: config.ANSWER_TTL_S * 1_000,
    onUnrecorded: (err) => {
      metrics.unrecorded.inc();
      log.error({ err }, 'a PSP answer could not be written; recovery will ask again');
    },
  };
  const schema = buildSchema({
    store,
    leaseMs: config.lockTtlMs,
    answerTtlMs: services.answerTtlMs,
    joinWaitMs: config.JOIN_WAIT_MS,
    onStoreError,
    onEnding: (outcome) => metrics.answered.inc({ outcome }),
  });
  const production = config.NODE_ENV === 'production';
  const onRefused = (code: string) => metrics.refused.inc({ code });
  const graphql = new GraphQLServer({
    schema,
    introspection: config.INTROSPECTION ?? !production,
    hideSuggestions: production,
    onInternalError: (err, correlationId) => log.error({ err, correlationId }, 'internal error'),
    onRefused,
  });
  await graphql.start();

  const identities = new Identities(database);
  const wanted = migrationsIn(migrationsFolder());
  const pages = new Pages({
    playground: (config.PLAYGROUND ?? !production) ? playgroundFolder() : undefined,
    demoApiKey: parts.demoApiKey,
  });
  const http = new HttpServer({
    metrics,
    pages,
    endpoint: new GraphQLEndpoint({
      graphql,
      services,
      onRefused,
      limits: new Limits({ perKeyPerSecond: config.RATE_LIMIT_PER_SECOND }),
      identify: (key) => identities.identify(key),
    }),
    whyNotReady: () => whyNotReady(database, wanted),
    onError: (err) => log.error({ err }, 'a request failed'),
  });
  const url = await listen(http, config);
  const recovery = startRecovery({
    journal,
    psp,
    ...RECOVERY,
    onReport: (report) => {
      for (const [fate, count] of Object.entries(report)) metrics.recovered.inc({ fate }, count);
      log.info({ report }, 'recovery');
    },
    onError: (err) => log.warn({ err }, 'recovery will try again'),
  });
  return {
    url,
    playground: pages.served ? `${url}/playground` : undefined,
    drain: async () => {
      const whole = await http.drain(config.DRAIN_MS);
      await recovery.stop();
      await graphql.stop();
      await psp.close();
      await database.close();
      closeStore();
      return whole;
    },
  };
}

async function openStore(
  redisUrl: string | undefined,
  log: Log,
  onError: () => void,
): Promise<{ store: Store; closeStore: () => void }> {
  if (redisUrl === undefined) return { store: new MemoryStore(), closeStore: () => {} };
  const connections = connectRedis(redisUrl, {
    onError: (err) => log.debug({ err }, 'Redis connection'),
  });
  if (await connections.ready(REDIS_READY_MS)) {
    for (const warning of await checkRedis(connections)) log.warn(warning);
  } else {
    log.warn('Redis cannot be reached; the journal alone decides until it can');
  }
  const store = new RedisStore(connections, { onError });
  return { store, closeStore: () => store.close() };
}

function playgroundFolder(): string {
  return join(dirname(fileInPackage('package.json')), 'dist', 'playground');
}
