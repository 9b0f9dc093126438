import { afterAll, beforeAll, expect, test } from 'vitest';
import { act, acted, eur } from '../support/act.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { eventually, freshKey, paid, pay } from '../support/pay.ts';
import { startTestRedis, type TestRedis } from '../support/with-redis.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import { type StripeStandIn, startStripe } from '../support/with-stripe.ts';
import { QUICK } from './world.ts';

let database: TestDatabase;
let redis: TestRedis;
let stripe: StripeStandIn;
let server: TestServer;

beforeAll(async () => {
  [database, redis, stripe] = await Promise.all([
    createDatabase(),
    startTestRedis(),
    startStripe(),
  ]);
  server = await startTestServer({
    env: {
      ...QUICK,
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      PSP: 'stripe',
      STRIPE_SECRET_KEY: 'sk_test_stand_in',
      STRIPE_API_BASE: stripe.url,
    },
  });
}, 120_000);

afterAll(async () => {
  await server.stop();
  await Promise.all([redis.stop(), stripe.stop()]);
  await database.drop();
}, 60_000);

const moved = async (kind: string) => (await stripe.moved()).filter((one) => one.kind === kind);

test('a payment whose answer Stripe owes is UNKNOWN, ends CAPTURED, and is refunded once', async () => {
  const key = freshKey();
  const paymentMethod = 'pm_fault_execute_then_hang';
  const first = paid(await pay(server, key, { paymentMethod }));
  expect(first).toMatchObject({
    payment: { status: 'UNKNOWN' },
    userErrors: [{ code: 'OUTCOME_UNKNOWN' }],
  });
  const last = await eventually(
    async () => paid(await pay(server, key, { paymentMethod })),
    ({ payment }) => payment?.status !== 'UNKNOWN',
    40_000,
  );
  expect(last).toMatchObject({ payment: { id: first.payment?.id, status: 'CAPTURED' } });
  expect(await moved('charge')).toHaveLength(1);

  const refundKey = freshKey();
  const input = { paymentId: first.payment?.id ?? '', amount: eur(100) };
  const refunded = acted(await act(server, 'refund', refundKey, input));
  expect(refunded).toMatchObject({ payment: { status: 'PARTIALLY_REFUNDED' }, userErrors: [] });
  await act(server, 'refund', refundKey, input);
  expect(await moved('refund')).toHaveLength(1);
}, 90_000);

test('a card that Stripe declines is DECLINED, and nothing moves', async () => {
  const before = await stripe.moved();
  const key = freshKey();
  const paymentMethod = 'pm_card_chargeDeclinedInsufficientFunds';
  const { payment } = paid(await pay(server, key, { paymentMethod }));
  expect(payment).toMatchObject({ status: 'DECLINED' });
  expect(await stripe.moved()).toEqual(before);
});
