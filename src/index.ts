/**
 * `@idempotent` for any GraphQL schema: `withIdempotency(schema, { store, scope })`. The payments
 * server itself is the command `semel`.
 */
export {
  type IdempotencyOptions,
  type IdempotentCall,
  idempotentTypeDefs,
  type Receipt,
  withIdempotency,
} from './graphql/index.ts';
export { MemoryStore, NotExecuted, type Store } from './idempotency/index.ts';
export { connectRedis, RedisStore } from './redis/index.ts';
