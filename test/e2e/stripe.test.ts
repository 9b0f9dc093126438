import postgres from 'postgres';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { act, acted, eur } from '../support/act.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { eventually, freshKey, paid, pay } from '../support/pay.ts';
import { mail, STRIPE_SECRET, stripeMail } from '../support/webhooks.ts';
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
      STRIPE_WEBHOOK_SECRET: STRIPE_SECRET,
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

test('an event of Stripe ends what its answer left open, once, in any number of deliveries', async () => {
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  const key = freshKey();
  const call = pay(server, key, { paymentMethod: 'pm_fault_execute_then_hang' });
  const [entry] = await eventually(
    () => sql`select id from journal_entries where idempotency_key = ${key}`,
    (rows) => rows.length === 1,
  );
  const reference = entry?.['id'] as string;
  await eventually(
    () => stripe.moved(reference),
    (all) => all.length === 1,
  );
  const intent = {
    id: `pi_${key}`,
    object: 'payment_intent',
    status: 'succeeded',
    amount: 1_050,
    amount_received: 1_050,
    currency: 'eur',
    latest_charge: 'ch_1',
    metadata: { semel_entry: reference },
  };
  const event = stripeMail('payment_intent.succeeded', intent);
  const forged = { ...event, body: event.body.replace('1050', '1') };
  expect((await mail(server.url, forged, 'stripe')).status).toBe(400);
  const answers = await Promise.all([1, 2, 3].map(() => mail(server.url, event, 'stripe')));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  const rows = await sql`
    select e.state, e.outcome_source, w.result from journal_entries e
    join inbound_webhooks w on w.entry_id = e.id where e.id = ${reference}`;
  expect(rows).toMatchObject([
    { state: 'SUCCEEDED', outcome_source: 'WEBHOOK', result: 'SETTLED' },
  ]);
  await call;
  expect(
    paid(await pay(server, key, { paymentMethod: 'pm_fault_execute_then_hang' })),
  ).toMatchObject({
    payment: { status: 'CAPTURED' },
    userErrors: [],
  });
  await sql.end();
}, 60_000);
