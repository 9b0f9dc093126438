import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { act, acted, eur, look, newPayment } from '../support/act.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { codeOf, eventually, freshKey, paid, pay } from '../support/pay.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';

let database: TestDatabase;
let simulator: TestSimulator;
let server: TestServer;
let toPsp: FaultProxy;

beforeAll(async () => {
  [database, simulator] = await Promise.all([createDatabase(), startTestSimulator()]);
  toPsp = await startProxy(Number(new URL(simulator.url).port));
  const env = {
    PSP_TIMEOUT_MS: '2000',
    CLOCK_DRIFT_MS: '500',
    LOCK_GRACE_MS: '1500',
    RECOVER_AFTER_MS: '4500',
    DATABASE_URL: database.url,
    SIMULATOR_URL: `http://127.0.0.1:${toPsp.port}`,
  };
  server = await startTestServer({ env });
}, 120_000);

afterAll(async () => {
  await server.stop();
  await toPsp.close();
  await simulator.stop();
  await database.drop();
});

/** Makes recovery ask the PSP about the payment, and returns once it has. */
async function asksAgain(paymentId: string): Promise<void> {
  const id = Buffer.from(paymentId, 'base64url').toString().slice('Payment:'.length);
  const sql = postgres(database.url, { max: 1, onnotice: () => {} });
  const [before] = await sql`update journal_entries set next_check_at = clock_timestamp()
    where payment_id = ${id} returning checks`;
  await eventually(
    () => sql`select checks from journal_entries
      where payment_id = ${id} and lease_until <= clock_timestamp()`,
    ([row]) => row?.['checks'] > before?.['checks'],
  );
  await sql.end();
}

describe('a payment that waits for the buyer', () => {
  const waiting = (more: object = {}) =>
    newPayment(server, { paymentMethod: 'pm_requires_action', ...more });

  test.each([
    ['AUTOMATIC', 'CAPTURED', 10_000],
    ['MANUAL', 'AUTHORIZED', 0],
  ])(
    'with %s says where to go, and is %s once confirmed',
    async (captureMode, status, captured) => {
      const since = (await simulator.executions()).length;
      const paymentId = await waiting({ captureMode });
      expect(await look(server, paymentId)).toMatchObject({
        status: 'REQUIRES_ACTION',
        nextAction: { url: expect.stringMatching(/^https:/) },
        allowedActions: ['CONFIRM'],
        captured: eur(0),
      });
      const early = acted(await act(server, 'refund', freshKey(), { paymentId }));
      expect(early.userErrors).toMatchObject([
        { code: 'INVALID_STATE', currentStatus: 'REQUIRES_ACTION', allowedActions: ['CONFIRM'] },
      ]);
      expect((await simulator.executions()).length).toBe(since);
      const key = freshKey();
      const confirmed = acted(await act(server, 'confirm', key, { paymentId }));
      expect(confirmed).toMatchObject({
        userErrors: [],
        payment: { status, captured: eur(captured), nextAction: null },
      });
      const again = acted(await act(server, 'confirm', key, { paymentId }));
      expect(again.idempotency.outcome).toBe('REPLAYED');
      expect(codeOf(await pay(server, key))).toBe('IDEMPOTENCY_KEY_REUSED');
      const second = acted(await act(server, 'confirm', freshKey(), { paymentId }));
      expect(second.userErrors).toMatchObject([{ code: 'INVALID_STATE', currentStatus: status }]);
      expect((await simulator.executions()).length).toBe(since + 1);
    },
  );

  test('is DECLINED if the buyer fails', async () => {
    const paymentId = await waiting();
    await simulator.scenario({ behaviour: 'declined', match: { kind: 'confirm' } });
    const confirmed = acted(await act(server, 'confirm', freshKey(), { paymentId }));
    expect(confirmed).toMatchObject({
      userErrors: [{ code: 'PAYMENT_DECLINED' }],
      payment: { status: 'DECLINED', allowedActions: [] },
    });
  });

  test('is found out if the answer to the confirmation is lost', async () => {
    const since = (await simulator.executions()).length;
    const paymentId = await waiting();
    await simulator.scenario({ behaviour: 'execute_then_reset', match: { kind: 'confirm' } });
    const key = freshKey();
    const first = acted(await act(server, 'confirm', key, { paymentId }));
    expect(first.userErrors).toMatchObject([{ code: 'OUTCOME_UNKNOWN' }]);
    await eventually(
      () => look(server, paymentId),
      ({ status }) => status === 'CAPTURED',
    );
    // The payment and the confirmation are looked up each by itself.
    const again = await eventually(
      async () => acted(await act(server, 'confirm', key, { paymentId })),
      ({ idempotency }) => idempotency.outcome === 'REPLAYED',
    );
    expect(again.userErrors).toEqual([]);
    expect((await simulator.executions()).length).toBe(since + 1);
  }, 40_000);

  test('is waited for although the answer that said so was lost, and no look-up makes it forgotten', async () => {
    const key = freshKey();
    const since = (await simulator.executions()).length;
    // The request arrives when nobody waits for its answer any more.
    await toPsp.set('stall');
    const first = paid(await pay(server, key, { paymentMethod: 'pm_requires_action' }));
    await toPsp.set('pass');
    expect(first).toMatchObject({ payment: { status: 'UNKNOWN' } });
    const paymentId = first.payment?.id ?? '';
    const before = await look(server, paymentId);
    const known = await eventually(
      () => look(server, paymentId),
      ({ status }) => status === 'REQUIRES_ACTION',
    );
    expect(known).toMatchObject({
      nextAction: { url: expect.stringMatching(/^https:/) },
      allowedActions: ['CONFIRM'],
    });
    expect(known.version).toBeGreaterThan(before.version);
    expect(paid(await pay(server, key, { paymentMethod: 'pm_requires_action' }))).toMatchObject({
      payment: { status: 'REQUIRES_ACTION' },
      userErrors: [],
      idempotency: { outcome: 'IN_DOUBT' },
    });
    await simulator.scenario({ behaviour: 'status_500', match: { kind: 'lookup' }, times: 2 });
    await asksAgain(paymentId);
    expect(await look(server, paymentId)).toMatchObject({ status: 'REQUIRES_ACTION' });
    await act(server, 'confirm', freshKey(), { paymentId });
    await eventually(
      () => look(server, paymentId),
      ({ status }) => status === 'CAPTURED',
    );
    expect((await simulator.executions()).length).toBe(since + 1);
  }, 60_000);

  test('two confirmations at once are one charge', async () => {
    const since = (await simulator.executions()).length;
    const paymentId = await waiting();
    await Promise.all(
      Array.from({ length: 10 }, () => act(server, 'confirm', freshKey(), { paymentId })),
    );
    const { captured } = await eventually(
      () => look(server, paymentId),
      ({ status }) => status === 'CAPTURED',
    );
    expect(captured).toEqual(eur(10_000));
    expect((await simulator.executions()).length).toBe(since + 1);
  });
});

describe('an authorisation', () => {
  test('that is not captured in time is EXPIRED, and cannot be captured', async () => {
    await simulator.settings({ authorizationWindowMs: 1_500 });
    const kept = await newPayment(server, { captureMode: 'MANUAL' });
    const captured = await newPayment(server, { captureMode: 'MANUAL' });
    await act(server, 'capture', freshKey(), { paymentId: captured, amount: eur(1_000) });
    await simulator.settings({ authorizationWindowMs: 60_000 });
    const later = await newPayment(server, { captureMode: 'MANUAL' });
    const expired = await eventually(
      () => look(server, kept),
      ({ status }) => status === 'EXPIRED',
    );
    expect(expired).toMatchObject({ capturable: eur(0), allowedActions: [] });
    const { userErrors } = acted(await act(server, 'capture', freshKey(), { paymentId: kept }));
    expect(userErrors).toMatchObject([{ code: 'INVALID_STATE', currentStatus: 'EXPIRED' }]);
    expect((await look(server, captured)).status).toBe('PARTIALLY_CAPTURED');
    expect((await look(server, later)).status).toBe('AUTHORIZED');
  });

  test('that expires at the PSP before we know of it is declined there', async () => {
    await simulator.settings({ authorizationWindowMs: 0 });
    const paymentId = await newPayment(server, { captureMode: 'MANUAL' });
    await simulator.settings({ authorizationWindowMs: 60_000 });
    const { userErrors } = acted(await act(server, 'capture', freshKey(), { paymentId }));
    expect(['PAYMENT_DECLINED', 'INVALID_STATE']).toContain(userErrors[0]?.code);
    await eventually(
      () => look(server, paymentId),
      ({ status }) => status === 'EXPIRED',
    );
  });
});
