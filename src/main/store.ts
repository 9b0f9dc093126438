import { MemoryStore, type Store } from '../idempotency/index.ts';
import { Bell, checkRedis, connectRedis, NearStore, RedisStore } from '../redis/index.ts';
import type { Log } from './log.ts';

const REDIS_READY_MS = 2_000;

export interface OpenStore {
  readonly store: Store;
  /** Between the processes that share this Redis; none if there is no Redis. */
  readonly bell: Bell | undefined;
  close(): void;
}

/** The first door: in Redis if there is one, whether it can be reached now or not; else in memory. */
export async function openStore(
  redisUrl: string | undefined,
  nearMs: number,
  log: Log,
): Promise<OpenStore> {
  if (redisUrl === undefined) return { store: new MemoryStore(), bell: undefined, close: () => {} };
  const connections = connectRedis(redisUrl, {
    onError: (err) => log.debug({ err }, 'Redis connection'),
  });
  if (await connections.ready(REDIS_READY_MS)) {
    for (const warning of await checkRedis(connections)) log.warn(warning);
  } else {
    log.warn('Redis cannot be reached; the journal alone decides until it can');
  }
  const far = new RedisStore(connections);
  return {
    store: nearMs === 0 ? far : new NearStore(far, nearMs),
    bell: new Bell(connections),
    close: () => far.close(),
  };
}
