/** What a scenario uses of the product, in one bundle: as it is, or with one bug in it. */
export { NotExecuted, Once } from '../../../src/idempotency/index.ts';
export {
  createPayment,
  hearEvent,
  recoverOnce,
} from '../../../src/payments/index.ts';
export { migrate } from '../../../src/postgres/administration.ts';
export {
  Database,
  PostgresEvents,
  PostgresInbox,
  PostgresJournal,
} from '../../../src/postgres/index.ts';
export { createSimulatorPsp } from '../../../src/psp/simulator.ts';
export { connectRedis, RedisStore } from '../../../src/redis/index.ts';
