import { afterAll, beforeAll, expect, test } from 'vitest';
import { ask, eventually, freshKey, paid, pay, statusOf } from '../support/pay.ts';
import type { TestServer } from '../support/with-server.ts';
import { atThePsp, disagreements, startWorld, type World } from './world.ts';

let world: World;
let server: TestServer;

beforeAll(async () => {
  world = await startWorld();
  server = await world.server();
}, 120_000);

afterAll(() => world.end(), 60_000);

const reference = (): string => `order-${freshKey()}`;

const PAY = `mutation($key: IdempotencyKey!, $input: CreatePaymentInput!) {
  createPayment(idempotencyKey: $key, input: $input) {
    payment { id transactionId status }
    userErrors { __typename code path ... on TransactionIdConflict { existingPayment { id status } } }
    idempotency { outcome attempt answerExpiresAt }
  }
}`;

const payFor = (key: string, transactionId: string, paymentMethod = 'pm_ok') =>
  ask(server, PAY, {
    key,
    input: { amount: { amountMinor: 1_050, currency: 'EUR' }, paymentMethod, transactionId },
  });

function conflictWith(id: string | undefined, status: string) {
  return {
    payment: null,
    userErrors: [
      {
        __typename: 'TransactionIdConflict',
        code: 'TRANSACTION_ID_CONFLICT',
        path: ['input', 'transactionId'],
        existingPayment: { id, status },
      },
    ],
  };
}

test('a second key for a paid order is told of the payment there is, and nothing is sent', async () => {
  const [first, second, order] = [freshKey(), freshKey(), reference()];
  const { payment } = paid(await payFor(first, order));
  const charges = (await world.simulator.requests()).length;
  const reply = await payFor(second, order);
  expect(reply.status).toBe(200);
  expect(paid(reply)).toMatchObject(conflictWith(payment?.id, 'CAPTURED'));
  expect((await world.simulator.requests()).length).toBe(charges);
  expect(await world.rows(second)).toEqual([]);
  // Once more, and after Redis has forgotten: the same decision.
  expect(paid(await payFor(second, order))).toMatchObject(conflictWith(payment?.id, 'CAPTURED'));
  await world.redis.flush();
  expect(paid(await payFor(second, order))).toMatchObject(conflictWith(payment?.id, 'CAPTURED'));
  // The first key is a replay as ever.
  expect(paid(await payFor(first, order))).toMatchObject({
    payment: { id: payment?.id, transactionId: order },
    idempotency: { outcome: 'REPLAYED' },
  });
});

test('a second key while the first payment is under way or unknown is refused, too', async () => {
  const [slow, unknown] = [reference(), reference()];
  const key = freshKey();
  const running = payFor(key, slow, 'pm_slow_700');
  await atThePsp(world, key);
  expect(paid(await payFor(freshKey(), slow)).userErrors[0]?.code).toBe('TRANSACTION_ID_CONFLICT');
  const done = paid(await running);
  expect(done.payment?.status).toBe('CAPTURED');

  const doubtful = paid(await payFor(freshKey(), unknown, 'pm_hang_before'));
  expect(doubtful.payment?.status).toBe('UNKNOWN');
  expect(paid(await payFor(freshKey(), unknown))).toMatchObject(
    conflictWith(doubtful.payment?.id, 'UNKNOWN'),
  );
});

test('of fifty keys for one order at once exactly one pays', async () => {
  const order = reference();
  const keys = Array.from({ length: 50 }, freshKey);
  const replies = await Promise.all(keys.map((key) => payFor(key, order, 'pm_slow_100')));
  const answers = replies.map(paid);
  const winners = answers.filter(({ payment }) => payment !== null);
  expect(winners).toHaveLength(1);
  for (const { payment, userErrors } of answers) {
    if (payment === null) expect(userErrors[0]?.code).toBe('TRANSACTION_ID_CONFLICT');
  }
  const executions = await Promise.all(keys.map((key) => world.executions(key)));
  expect(executions.flat()).toHaveLength(1);
});

test('a declined payment frees the reference, not its key', async () => {
  const [declined, paying, order] = [freshKey(), freshKey(), reference()];
  expect(paid(await payFor(declined, order, 'pm_declined')).payment?.status).toBe('DECLINED');
  expect(paid(await payFor(paying, order)).payment?.status).toBe('CAPTURED');
  expect(paid(await payFor(declined, order, 'pm_declined'))).toMatchObject({
    payment: { status: 'DECLINED' },
    idempotency: { outcome: 'REPLAYED' },
  });
  // The look-up by reference shows the live payment.
  const query = 'query($by: PaymentLookup!) { payment(by: $by) { status } }';
  expect((await ask(server, query, { by: { transactionId: order } })).body.data).toEqual({
    payment: { status: 'CAPTURED' },
  });
  expect(await statusOf(server, declined)).toBe('DECLINED');
});

test('a payment that was never sent holds no reference; if its key comes late it is told', async () => {
  const [unsent, paying, order] = [freshKey(), freshKey(), reference()];
  expect(paid(await payFor(unsent, order, 'pm_rate_limited_1')).payment).toBeNull();
  const { payment } = paid(await payFor(paying, order));
  expect(payment?.status).toBe('CAPTURED');
  expect(paid(await payFor(unsent, order, 'pm_rate_limited_1'))).toMatchObject(
    conflictWith(payment?.id, 'CAPTURED'),
  );
  expect(await world.executions(unsent)).toEqual([]);
});

test('without a reference two equal payments are two payments', async () => {
  const [one, other] = [freshKey(), freshKey()];
  const ids = [paid(await pay(server, one)), paid(await pay(server, other))];
  expect(new Set(ids.map(({ payment }) => payment?.id)).size).toBe(2);
  expect(await world.executions(one)).toHaveLength(1);
  expect(await world.executions(other)).toHaveLength(1);
});

test('after all of that the books agree', async () => {
  await eventually(
    () => disagreements(world),
    (problems) => problems.length === 0,
  );
});
