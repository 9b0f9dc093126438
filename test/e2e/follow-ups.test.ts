import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { act, acted, eur, look, newPayment, type Verb } from '../support/act.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { codeOf, eventually, freshKey, pay } from '../support/pay.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';

let database: TestDatabase;
let simulator: TestSimulator;
let server: TestServer;

/** The PSP is given up soon, and what is in doubt is asked about soon. */
const QUICK = {
  PSP_TIMEOUT_MS: '2000',
  CLOCK_DRIFT_MS: '500',
  LOCK_GRACE_MS: '1500',
  RECOVER_AFTER_MS: '4500',
};

beforeAll(async () => {
  [database, simulator] = await Promise.all([createDatabase(), startTestSimulator()]);
  server = await start();
}, 120_000);

afterAll(async () => {
  await server.stop();
  await simulator.stop();
  await database.drop();
});

function start(): Promise<TestServer> {
  const env = { ...QUICK, DATABASE_URL: database.url, SIMULATOR_URL: simulator.url };
  return startTestServer({ env });
}

const executed = async (kind: string, reference?: string) =>
  (await simulator.executions(reference)).filter((one) => one.kind === kind);

const authorized = (more: object = {}) => newPayment(server, { captureMode: 'MANUAL', ...more });
const requests = async () => (await simulator.requests()).length;

describe('a payment with captureMode MANUAL', () => {
  test('is authorized, captured in parts and refunded in parts', async () => {
    const paymentId = await authorized();
    expect(await look(server, paymentId)).toMatchObject({
      status: 'AUTHORIZED',
      authorized: eur(10_000),
      captured: eur(0),
      capturable: eur(10_000),
      refundable: eur(0),
      allowedActions: ['CAPTURE', 'VOID'],
    });
    const steps: [Verb, number | undefined, object][] = [
      ['capture', 3_000, { status: 'PARTIALLY_CAPTURED', capturable: eur(7_000) }],
      ['capture', undefined, { status: 'CAPTURED', captured: eur(10_000), capturable: eur(0) }],
      ['refund', 2_500, { status: 'PARTIALLY_REFUNDED', refundable: eur(7_500) }],
      ['refund', 500, { status: 'PARTIALLY_REFUNDED', refunded: eur(3_000) }],
      ['refund', undefined, { status: 'REFUNDED', refunded: eur(10_000), allowedActions: [] }],
    ];
    for (const [verb, amount, expected] of steps) {
      const input = { paymentId, ...(amount === undefined ? {} : { amount: eur(amount) }) };
      const answer = acted(await act(server, verb, freshKey(), input));
      expect(answer).toMatchObject({ userErrors: [], idempotency: { outcome: 'EXECUTED' } });
      expect(answer.payment).toMatchObject({ ...expected, inDoubt: eur(0) });
    }
  });

  test('is voided once, and then nothing else can be done', async () => {
    const paymentId = await authorized();
    const { payment } = acted(await act(server, 'void', freshKey(), { paymentId, reason: 'no' }));
    expect(payment).toMatchObject({ status: 'VOIDED', capturable: eur(0), allowedActions: [] });
    for (const verb of ['capture', 'void', 'refund'] as const) {
      const { userErrors } = acted(await act(server, verb, freshKey(), { paymentId }));
      expect(userErrors).toMatchObject([
        { __typename: 'InvalidState', currentStatus: 'VOIDED', allowedActions: [] },
      ]);
    }
  });

  test('explicit AUTOMATIC, null and leaving it out are the same request', async () => {
    const key = freshKey();
    const first = await pay(server, key);
    for (const captureMode of ['AUTOMATIC', null]) {
      const again = await pay(server, key, { captureMode });
      expect(again.body.data).toMatchObject({
        createPayment: {
          payment: (first.body.data as { createPayment: never })['createPayment']['payment'],
        },
      });
    }
    expect(codeOf(await pay(server, key, { captureMode: 'MANUAL' }))).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
  });
});

describe('what is refused before the PSP is asked', () => {
  test('more than remains, with the most that may be asked for; the key stays free', async () => {
    const paymentId = await newPayment(server);
    const key = freshKey();
    const before = await requests();
    const tooMuch = acted(await act(server, 'refund', key, { paymentId, amount: eur(10_001) }));
    expect(tooMuch.userErrors).toMatchObject([
      { code: 'AMOUNT_LIMIT_EXCEEDED', maximum: eur(10_000) },
    ]);
    expect(await requests()).toBe(before);
    const fits = acted(await act(server, 'refund', key, { paymentId, amount: eur(10_000) }));
    expect(fits).toMatchObject({ userErrors: [], payment: { status: 'REFUNDED' } });
  });

  test.each([0, -1, 1.5, '1e2'])('an amount of %s', async (amountMinor) => {
    const paymentId = await newPayment(server);
    const before = await requests();
    const amount = { amountMinor, currency: 'EUR' };
    const reply = await act(server, 'refund', freshKey(), { paymentId, amount });
    expect(codeOf(reply)).toBe('BAD_USER_INPUT');
    expect(await requests()).toBe(before);
    expect((await look(server, paymentId)).refunded).toEqual(eur(0));
  });

  test('another currency, another version, a payment that is not there', async () => {
    const paymentId = await newPayment(server);
    const { version } = await look(server, paymentId);
    const cases: [object, object][] = [
      [{ paymentId, amount: { amountMinor: 1, currency: 'USD' } }, { code: 'CURRENCY_MISMATCH' }],
      [
        { paymentId, expectedVersion: version + 1 },
        { code: 'VERSION_CONFLICT', currentVersion: version },
      ],
      [{ paymentId: 'nonsense' }, { code: 'PAYMENT_NOT_FOUND' }],
    ];
    for (const [input, error] of cases) {
      const { userErrors } = acted(await act(server, 'refund', freshKey(), input));
      expect(userErrors).toMatchObject([error]);
    }
    const right = { paymentId, expectedVersion: version };
    expect(acted(await act(server, 'refund', freshKey(), right)).userErrors).toEqual([]);
  });

  test('a capture or refund of what is not authorized or not captured', async () => {
    const captured = await newPayment(server);
    const declined = await newPayment(server, { paymentMethod: 'pm_declined' });
    const held = await authorized();
    const cases: [Verb, string, object][] = [
      ['capture', captured, { currentStatus: 'CAPTURED', allowedActions: ['REFUND'] }],
      ['void', captured, { currentStatus: 'CAPTURED', allowedActions: ['REFUND'] }],
      ['refund', declined, { currentStatus: 'DECLINED', allowedActions: [] }],
      ['refund', held, { currentStatus: 'AUTHORIZED', allowedActions: ['CAPTURE', 'VOID'] }],
    ];
    for (const [verb, paymentId, error] of cases) {
      const { userErrors } = acted(await act(server, verb, freshKey(), { paymentId }));
      expect(userErrors).toMatchObject([{ code: 'INVALID_STATE', ...error }]);
    }
  });
});

const preparations = {
  capture: authorized,
  void: authorized,
  refund: () => newPayment(server),
};
const STATUS = { capture: 'CAPTURED', void: 'VOIDED', refund: 'REFUNDED' };

describe.each(['capture', 'void', 'refund'] as const)('%s', (verb) => {
  const prepare = preparations[verb];

  test('a retry is a replay; other arguments and other operations are refused', async () => {
    const paymentId = await prepare();
    const key = freshKey();
    const before = (await executed(verb)).length;
    const first = acted(await act(server, verb, key, { paymentId }));
    const again = acted(await act(server, verb, key, { paymentId }));
    expect(first.idempotency.outcome).toBe('EXECUTED');
    expect(again.idempotency.outcome).toBe('REPLAYED');
    expect(again.payment).toEqual(first.payment);
    const other = await act(server, verb, key, { paymentId, expectedVersion: 1 });
    expect(codeOf(other)).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(other.body.errors?.[0]?.extensions).toMatchObject({
      reason: 'PAYLOAD',
      paths: ['input.expectedVersion'],
    });
    const asPayment = await pay(server, key);
    expect(asPayment.body.errors?.[0]?.extensions).toMatchObject({
      code: 'IDEMPOTENCY_KEY_REUSED',
      reason: 'OPERATION',
    });
    expect((await executed(verb)).length).toBe(before + 1);
  });

  test('one that times out is in doubt, and is found out without a second execution', async () => {
    const paymentId = await prepare();
    const key = freshKey();
    const before = (await executed(verb)).length;
    await simulator.scenario({ behaviour: 'execute_then_hang', match: { kind: verb } });
    const was = await look(server, paymentId);
    const first = acted(await act(server, verb, key, { paymentId }));
    expect(first.userErrors).toMatchObject([{ code: 'OUTCOME_UNKNOWN' }]);
    expect(first.idempotency.outcome).toBe('IN_DOUBT');
    expect(first.payment).toMatchObject({
      status: was.status,
      inDoubt: eur(verb === 'void' ? 0 : 10_000),
      allowedActions: [],
    });
    const blocked = acted(await act(server, verb, freshKey(), { paymentId }));
    expect(blocked.userErrors).toHaveLength(1);
    const now = await eventually(
      () => look(server, paymentId),
      ({ status }) => status === STATUS[verb],
    );
    expect(now.inDoubt).toEqual(eur(0));
    const again = acted(await act(server, verb, key, { paymentId }));
    expect(again).toMatchObject({ userErrors: [], idempotency: { outcome: 'REPLAYED' } });
    const own = (await executed(verb)).slice(before);
    expect(own).toHaveLength(1);
  });

  test('one that was not executed is sent again under the same PSP key', async () => {
    const paymentId = await prepare();
    const key = freshKey();
    await simulator.scenario({ behaviour: 'rate_limited', match: { kind: verb } });
    const before = await simulator.requests();
    const refused = acted(await act(server, verb, key, { paymentId }));
    expect(refused.userErrors).toMatchObject([{ code: 'PSP_UNAVAILABLE' }]);
    expect(refused.payment?.allowedActions).not.toEqual([]);
    const again = acted(await act(server, verb, key, { paymentId }));
    expect(again).toMatchObject({ userErrors: [], payment: { status: STATUS[verb] } });
    expect(again.idempotency.attempt).toBe(2);
    const sent = (await simulator.requests()).slice(before.length);
    expect(sent).toHaveLength(2);
    expect(sent[0]?.idempotencyKey).toBe(sent[1]?.idempotencyKey);
  });
});

test('a key whose first try was not sent meets the ceiling again', async () => {
  const paymentId = await newPayment(server);
  const key = freshKey();
  await simulator.scenario({ behaviour: 'rate_limited', match: { kind: 'refund' } });
  acted(await act(server, 'refund', key, { paymentId, amount: eur(6_000) }));
  acted(await act(server, 'refund', freshKey(), { paymentId, amount: eur(6_000) }));
  const again = acted(await act(server, 'refund', key, { paymentId, amount: eur(6_000) }));
  expect(again.userErrors).toMatchObject([{ code: 'AMOUNT_LIMIT_EXCEEDED', maximum: eur(4_000) }]);
  expect((await look(server, paymentId)).refunded).toEqual(eur(6_000));
});

test('a refund that executes and hangs is one refund, also over a restart', async () => {
  const paymentId = await newPayment(server);
  const key = freshKey();
  const before = (await executed('refund')).length;
  await simulator.scenario({ behaviour: 'execute_then_hang', match: { kind: 'refund' } });
  const sent = act(server, 'refund', key, { paymentId }).catch(() => undefined);
  await eventually(
    () => executed('refund'),
    (all) => all.length > before,
  );
  await server.kill();
  await sent;
  server = await start();
  const answer = await eventually(
    async () => acted(await act(server, 'refund', key, { paymentId })),
    ({ idempotency }) => idempotency.outcome === 'REPLAYED',
  );
  expect(answer).toMatchObject({ userErrors: [], payment: { status: 'REFUNDED' } });
  expect((await executed('refund')).slice(before)).toHaveLength(1);
}, 60_000);
