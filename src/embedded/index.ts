export {
  type ChildOptions,
  type NodeEntry,
  nodeEntry,
  type RunningChild,
  startChild,
} from './child.ts';
export { type PostgresOptions, type RunningPostgres, startPostgres } from './postgres.ts';
export { type RedisOptions, type RunningRedis, startRedis } from './redis.ts';
