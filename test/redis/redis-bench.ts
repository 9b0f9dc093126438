import type { Redis } from 'ioredis';
import {
  type ConnectOptions,
  connectRedis,
  RedisStore,
  type RedisStoreOptions,
} from '../../src/redis/index.ts';
import type { StoreBench } from '../contract/store-contract.ts';

/** Takes `ms` from what is left of every key: the server's clock cannot be moved. */
const AGE_ALL = `
for _, key in ipairs(redis.call('KEYS', 'semel:*')) do
  local left = redis.call('PTTL', key) - tonumber(ARGV[1])
  if left > 0 then redis.call('PEXPIRE', key, left) else redis.call('DEL', key) end
end`;

export function redisBench(store: RedisStore, admin: Redis): StoreBench {
  return {
    store,
    advance: async (ms) => {
      await admin.eval(AGE_ALL, 0, ms);
    },
  };
}

/** A store on its own connections; they are up when this returns. */
export async function openStore(
  url: string,
  options: RedisStoreOptions = {},
  connect: ConnectOptions = {},
): Promise<RedisStore> {
  const connections = connectRedis(url, connect);
  if (!(await connections.ready(5_000))) throw new Error('Redis was not ready within 5 s.');
  return new RedisStore(connections, options);
}
