import { afterAll, beforeAll, expect, test } from 'vitest';
import { freshKey, paid, pay } from '../support/pay.ts';
import { startTestPostgres, type TestPostgres } from '../support/with-postgres.ts';
import { startTestRedis, type TestRedis } from '../support/with-redis.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';
import { QUICK } from './world.ts';

let postgres: TestPostgres;
let redis: TestRedis;
let simulator: TestSimulator;
let server: TestServer;
beforeAll(async () => {
  [postgres, redis, simulator] = await Promise.all([
    startTestPostgres(),
    startTestRedis(),
    startTestSimulator(),
  ]);
  const places = { DATABASE_URL: postgres.url, REDIS_URL: redis.url, SIMULATOR_URL: simulator.url };
  server = await startTestServer({ env: { ...QUICK, ...places } });
}, 120_000);
afterAll(async () => {
  await server.stop();
  await Promise.all([postgres.remove(), redis.stop(), simulator.stop()]);
}, 60_000);

test('a replay while the database is gone: the decision is told, and that the payment cannot be read', async () => {
  const [done, declined] = [freshKey(), freshKey()];
  expect(paid(await pay(server, done)).payment?.status).toBe('CAPTURED');
  await pay(server, declined, { paymentMethod: 'pm_declined' });
  await postgres.immediateStop();
  try {
    const [again, refused] = await Promise.all([
      pay(server, done),
      pay(server, declined, { paymentMethod: 'pm_declined' }),
    ]);
    for (const [reply, decision, code] of [
      [again, 'SUCCEEDED', undefined],
      [refused, 'DECLINED', 'PAYMENT_DECLINED'],
    ] as const) {
      expect(paid(reply)).toMatchObject({ payment: null, idempotency: { outcome: 'REPLAYED' } });
      expect(paid(reply).userErrors[0]?.code).toBe(code);
      expect(reply.body.errors?.map(({ extensions }) => extensions)).toEqual([
        {
          code: 'PAYMENT_UNREADABLE',
          decision,
          retryable: true,
          safeToRetryWithSameKey: true,
          retryAfterMs: 1_000,
        },
      ]);
    }
  } finally {
    await postgres.start();
  }
  expect(paid(await pay(server, done)).payment?.status).toBe('CAPTURED');
}, 90_000);
