import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ask, eventually, freshKey, paid, pay, statusOf } from '../support/pay.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';
import type { TestServer } from '../support/with-server.ts';
import { atThePsp, disagreements, startWorld, type World } from './world.ts';

let world: World;
let server: TestServer;

beforeAll(async () => {
  world = await startWorld();
  server = await world.server();
}, 120_000);

afterAll(() => world.end(), 60_000);

async function expectOneIntent(key: string, executions: number): Promise<void> {
  expect(await world.rows(key)).toHaveLength(1);
  expect(await world.executions(key)).toHaveLength(executions);
  const keys = (await world.requests(key)).map(({ idempotencyKey }) => idempotencyKey);
  expect(new Set(keys).size).toBe(1);
}

const record = async (key: string): Promise<unknown> => {
  const query =
    'query($key: IdempotencyKey!) { idempotencyKey(key: $key) { state next attempt payment { status } } }';
  return ((await ask(server, query, { key })).body.data as { idempotencyKey: unknown })
    .idempotencyKey;
};

describe.concurrent('an answer that does not tell what happened is UNKNOWN, and ends CAPTURED', () => {
  test.each([
    'pm_execute_then_hang',
    'pm_execute_then_reset',
    'pm_execute_then_500',
    'pm_execute_then_502',
    'pm_execute_then_504',
    'pm_execute_then_truncate',
    'pm_execute_then_garbage',
    'pm_execute_then_empty',
    'pm_execute_then_unknown_status',
    'pm_execute_then_no_id',
    'pm_execute_then_redirect',
    'pm_headers_then_stall',
    'pm_fail_before_500',
    'pm_execute_late_2500',
  ])(
    '%s',
    async (paymentMethod) => {
      const key = freshKey();
      const startedAt = performance.now();
      const reply = await pay(server, key, { paymentMethod });
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      expect(reply.status).toBe(200);
      expect(reply.body.errors).toBeUndefined();
      const first = paid(reply);
      expect(first).toMatchObject({
        payment: { status: 'UNKNOWN' },
        userErrors: [{ code: 'OUTCOME_UNKNOWN' }],
        idempotency: { outcome: 'IN_DOUBT', attempt: 1 },
      });
      const retried = paid(await pay(server, key, { paymentMethod }));
      expect(retried.payment?.id).toBe(first.payment?.id);
      expect(['UNKNOWN', 'CAPTURED']).toContain(retried.payment?.status);

      const last = await eventually(
        async () => paid(await pay(server, key, { paymentMethod })),
        ({ payment }) => payment?.status !== 'UNKNOWN',
        40_000,
      );
      expect(last).toMatchObject({
        payment: { id: first.payment?.id, status: 'CAPTURED' },
        userErrors: [],
        idempotency: { outcome: 'REPLAYED' },
      });
      expect(await record(key)).toMatchObject({ state: 'SUCCEEDED', next: 'RETRY_SAME_KEY' });
      await expectOneIntent(key, 1);
    },
    60_000,
  );
});

test('a PSP that never executes and never answers: UNKNOWN, asked again with the same key', async () => {
  const key = freshKey();
  const paymentMethod = 'pm_hang_before';
  const first = paid(await pay(server, key, { paymentMethod }));
  expect(first).toMatchObject({ payment: { status: 'UNKNOWN' } });
  expect(await record(key)).toMatchObject({
    state: 'UNKNOWN',
    next: 'WAIT',
    payment: { status: 'UNKNOWN' },
  });
  await eventually(
    () => world.requests(key),
    (requests) => requests.length >= 2,
    40_000,
  );
  const retried = paid(await pay(server, key, { paymentMethod }));
  expect(retried.payment).toMatchObject({ id: first.payment?.id, status: 'UNKNOWN' });
  await expectOneIntent(key, 0);
}, 60_000);

describe.concurrent('answers that say what happened', () => {
  test('a PSP that promises the outcome for later: PROCESSING, then CAPTURED', async () => {
    const key = freshKey();
    const reply = await pay(server, key, { paymentMethod: 'pm_pending_300' });
    expect(reply.status).toBe(200);
    const first = paid(reply);
    expect(first).toMatchObject({ payment: { status: 'PROCESSING' }, userErrors: [] });
    const last = await eventually(
      async () => paid(await pay(server, key, { paymentMethod: 'pm_pending_300' })),
      ({ payment }) => payment?.status === 'CAPTURED',
    );
    expect(last.payment?.id).toBe(first.payment?.id);
    await expectOneIntent(key, 1);
  });

  test('another amount than asked for: IN_REVIEW, and it stays', async () => {
    const key = freshKey();
    const paymentMethod = 'pm_wrong_amount';
    const reply = await pay(server, key, { paymentMethod });
    expect(reply.status).toBe(200);
    const first = paid(reply);
    expect(first).toMatchObject({
      payment: { status: 'IN_REVIEW' },
      userErrors: [{ code: 'IN_REVIEW' }],
    });
    const again = paid(await pay(server, key, { paymentMethod }));
    expect(again.payment).toMatchObject({ id: first.payment?.id, status: 'IN_REVIEW' });
    expect(await record(key)).toMatchObject({ state: 'IN_REVIEW', next: 'CONTACT_SUPPORT' });
    await expectOneIntent(key, 1);
    expect(await world.requests(key)).toHaveLength(1);
  });

  test.each([
    ['pm_declined', 'do_not_honor', false],
    ['pm_insufficient_funds', 'insufficient_funds', true],
  ])(
    '%s is a result: replayed, and a new key is a new attempt',
    async (paymentMethod, declineCode, soft) => {
      const key = freshKey();
      const query = `mutation($key: IdempotencyKey!, $input: CreatePaymentInput!) {
      createPayment(idempotencyKey: $key, input: $input) {
        payment { id status isTerminal captured { amountMinor } }
        userErrors { __typename code ... on PaymentDeclined { declineCode soft } }
        idempotency { outcome attempt }
      }
    }`;
      const input = { amount: { amountMinor: 1_050, currency: 'EUR' }, paymentMethod };
      const reply = await ask(server, query, { key, input });
      expect(reply.status).toBe(200);
      const first = paid(reply);
      expect(first).toMatchObject({
        payment: { status: 'DECLINED', isTerminal: true, captured: { amountMinor: 0 } },
        userErrors: [
          { __typename: 'PaymentDeclined', code: 'PAYMENT_DECLINED', declineCode, soft },
        ],
        idempotency: { outcome: 'EXECUTED' },
      });
      const again = paid(await ask(server, query, { key, input }));
      expect(again).toEqual({ ...first, idempotency: { outcome: 'REPLAYED', attempt: 1 } });
      expect(await record(key)).toMatchObject({ state: 'DECLINED', next: 'NEW_KEY' });
      await expectOneIntent(key, 0);
      expect(await world.requests(key)).toHaveLength(1);

      const fresh = freshKey();
      expect(paid(await pay(server, fresh)).payment?.status).toBe('CAPTURED');
      await expectOneIntent(fresh, 1);
    },
  );

  test('what the PSP will never do: FAILED, and it stays', async () => {
    const key = freshKey();
    const paymentMethod = 'pm_no_such_method';
    const first = paid(await pay(server, key, { paymentMethod }));
    expect(first).toMatchObject({
      payment: { status: 'FAILED' },
      userErrors: [{ code: 'PAYMENT_FAILED' }],
    });
    const again = paid(await pay(server, key, { paymentMethod }));
    expect(again).toMatchObject({ ...first, idempotency: { outcome: 'REPLAYED' } });
    await expectOneIntent(key, 0);
  });

  test('a busy PSP: PspUnavailable with a hint, and the same key goes on', async () => {
    const key = freshKey();
    const paymentMethod = 'pm_rate_limited_2';
    for (const attempt of [1, 2]) {
      const reply = await pay(server, key, { paymentMethod });
      expect(reply.status).toBe(200);
      expect(paid(reply)).toMatchObject({
        payment: null,
        userErrors: [{ code: 'PSP_UNAVAILABLE' }],
        idempotency: { outcome: 'EXECUTED', attempt },
      });
      expect(paid(reply).userErrors[0]?.retryAfterMs).toBeGreaterThanOrEqual(1_000);
      expect(await statusOf(server, key)).toBeNull();
      expect(await record(key)).toMatchObject({ state: 'FAILED', next: 'RETRY_SAME_KEY' });
    }
    const last = paid(await pay(server, key, { paymentMethod }));
    expect(last).toMatchObject({
      payment: { status: 'CAPTURED' },
      userErrors: [],
      idempotency: { outcome: 'EXECUTED', attempt: 3 },
    });
    await expectOneIntent(key, 1);
    expect(await world.requests(key)).toHaveLength(3);
  });
});

test('an outcome that cannot be written: UNKNOWN, and it ends once the journal can write', async () => {
  const key = freshKey();
  await world.sql.unsafe(`
    create function test_no_t2() returns trigger language plpgsql as $$
    begin raise exception 'not now' using errcode = 'check_violation'; end $$;
    create trigger test_no_t2 before update on journal_entries
      for each row when (new.idempotency_key = '${key}' and new.state = 'SUCCEEDED')
      execute function test_no_t2()`);
  const reply = await pay(server, key);
  expect(reply.status).toBe(200);
  const first = paid(reply);
  expect(first).toMatchObject({
    payment: { status: 'UNKNOWN' },
    userErrors: [{ code: 'OUTCOME_UNKNOWN' }],
  });
  await eventually(
    async () => (await world.rows(key))[0]?.state,
    (state) => state === 'UNKNOWN',
  );
  const again = paid(await pay(server, key));
  expect(again.payment).toMatchObject({ id: first.payment?.id, status: 'UNKNOWN' });
  await world.sql.unsafe('drop trigger test_no_t2 on journal_entries');
  await eventually(
    () => statusOf(server, key),
    (status) => status === 'CAPTURED',
    40_000,
  );
  await expectOneIntent(key, 1);
}, 60_000);

describe('a PSP that cannot be reached', () => {
  let proxy: FaultProxy;
  let behind: TestServer;

  beforeAll(async () => {
    proxy = await startProxy(Number(new URL(world.simulator.url).port));
    behind = await world.server({ SIMULATOR_URL: `http://127.0.0.1:${proxy.port}` });
  }, 60_000);

  beforeEach(() => proxy.set('pass'));

  afterAll(() => proxy.close());

  test('is told as PspUnavailable over and over; once it is back the same key executes', async () => {
    const key = freshKey();
    await proxy.set('refuse');
    // More often than opens the breaker.
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      const reply = await pay(behind, key);
      expect(reply.status).toBe(200);
      expect(paid(reply)).toMatchObject({
        payment: null,
        userErrors: [{ code: 'PSP_UNAVAILABLE' }],
      });
      expect(paid(reply).userErrors[0]?.retryAfterMs).toBeGreaterThan(0);
    }
    expect(await world.requests(key)).toEqual([]);
    await proxy.set('pass');
    const done = await eventually(
      async () => paid(await pay(behind, key)),
      ({ payment }) => payment !== null,
    );
    expect(done).toMatchObject({
      payment: { status: 'CAPTURED' },
      idempotency: { outcome: 'EXECUTED' },
    });
    await expectOneIntent(key, 1);
  });

  test('and another payload under that key stays refused', async () => {
    const key = freshKey();
    await proxy.set('refuse');
    await pay(behind, key);
    const other = await pay(behind, key, { amount: { amountMinor: 1_051, currency: 'EUR' } });
    expect(other.status).toBe(422);
    await proxy.set('pass');
    await eventually(
      async () => paid(await pay(behind, key)),
      ({ payment }) => payment?.status === 'CAPTURED',
    );
    await expectOneIntent(key, 1);
  });

  test('after the request has left, nobody knows: UNKNOWN, and it ends by itself', async () => {
    const key = freshKey();
    const answer = pay(behind, key, { paymentMethod: 'pm_slow_300' });
    await atThePsp(world, key);
    await proxy.set('reset');
    expect(paid(await answer)).toMatchObject({ payment: { status: 'UNKNOWN' } });
    await proxy.set('pass');
    await eventually(
      () => statusOf(behind, key),
      (status) => status === 'CAPTURED',
    );
    await expectOneIntent(key, 1);
  });
});

test('after all of that the books agree', async () => {
  expect(await disagreements(world)).toEqual([]);
});
