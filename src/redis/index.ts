export { Bell } from './bell.ts';
export { checkRedis } from './check-redis.ts';
export { type ConnectOptions, connectRedis, isRedisUrl, type RedisConnections } from './connect.ts';
export { NearStore } from './near-store.ts';
export { RedisStore, type RedisStoreOptions } from './redis-store.ts';
export { SCRIPTS, type Script, type Scripts, script } from './scripts.ts';
export { StoreUnavailable } from './store-unavailable.ts';
