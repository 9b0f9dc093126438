import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type ActAnswer,
  act,
  acted,
  eur,
  insist,
  look,
  newPayment,
  type Verb,
} from '../support/act.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { codeOf, eventually, freshKey, type Reply } from '../support/pay.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';

const PARALLEL = 200;
const ROUNDS = 100;

let database: TestDatabase;
let simulator: TestSimulator;
let pair: readonly [TestServer, TestServer];

/** Each process has a first door of its own: the journal alone decides between them. */
beforeAll(async () => {
  [database, simulator] = await Promise.all([createDatabase(), startTestSimulator()]);
  const env = { DATABASE_URL: database.url, SIMULATOR_URL: simulator.url };
  pair = await Promise.all([startTestServer({ env }), startTestServer({ env })]);
}, 120_000);

afterAll(async () => {
  await Promise.all(pair.map((server) => server.stop()));
  await simulator.stop();
  await database.drop();
});

/** The same verb many times at once, over both processes by turns, each under its own key. */
function burst(verb: Verb, times: number, input: object): Promise<ActAnswer[]> {
  return Promise.all(
    Array.from({ length: times }, async (_, turn) => {
      const key = freshKey();
      return acted(await insist(() => act(pair[turn % 2] as TestServer, verb, key, input)));
    }),
  );
}

/** What the PSP has executed, in minor units by kind, since the books had so many lines. */
async function moved(since: number): Promise<Record<string, number>> {
  const sums: Record<string, number> = {};
  for (const { kind, amountMinor } of (await simulator.executions()).slice(since)) {
    sums[kind] = (sums[kind] ?? 0) + amountMinor;
  }
  return sums;
}

const lines = async () => (await simulator.executions()).length;
const succeeded = (answers: readonly ActAnswer[]) =>
  answers.filter(({ userErrors }) => userErrors.length === 0).length;
const codes = (answers: readonly ActAnswer[]) =>
  new Set(answers.flatMap(({ userErrors }) => userErrors.map(({ code }) => code)));

test.each([
  ['capture', { captureMode: 'MANUAL' }],
  ['refund', {}],
] as const)(
  'of 200 parallel partial %ss exactly the fitting ones succeed',
  async (verb, more) => {
    const paymentId = await newPayment(pair[0], more);
    const since = await lines();
    const answers = await burst(verb, PARALLEL, { paymentId, amount: eur(700) });
    expect(succeeded(answers)).toBe(14);
    expect([...codes(answers)]).toEqual(['AMOUNT_LIMIT_EXCEEDED']);
    expect(await moved(since)).toEqual({ [verb]: 14 * 700 });
    const now = await look(pair[1], paymentId);
    expect(now[verb === 'capture' ? 'captured' : 'refunded']).toEqual(eur(9_800));
    expect(now[verb === 'capture' ? 'capturable' : 'refundable']).toEqual(eur(200));
  },
  120_000,
);

test('captures and refunds of one payment at once: refunded ≤ captured ≤ authorized', async () => {
  const paymentId = await newPayment(pair[0], { captureMode: 'MANUAL' });
  const since = await lines();
  const [captures, refunds] = await Promise.all([
    burst('capture', PARALLEL / 2, { paymentId, amount: eur(700) }),
    burst('refund', PARALLEL / 2, { paymentId, amount: eur(300) }),
  ]);
  const { authorized, captured, refunded, inDoubt } = await look(pair[0], paymentId);
  expect(succeeded(captures)).toBe(captured.amountMinor / 700);
  expect(succeeded(refunds)).toBe(refunded.amountMinor / 300);
  expect(captured.amountMinor).toBeLessThanOrEqual(authorized.amountMinor);
  expect(refunded.amountMinor).toBeLessThanOrEqual(captured.amountMinor);
  expect(inDoubt).toEqual(eur(0));
  const { capture = 0, refund = 0 } = await moved(since);
  expect({ capture, refund }).toEqual({
    capture: captured.amountMinor,
    refund: refunded.amountMinor,
  });
}, 120_000);

test('two refunds of 60.00 of 100.00 at once, a hundred times: one of them each time', async () => {
  const ids = await Promise.all(Array.from({ length: ROUNDS }, () => newPayment(pair[0])));
  const since = await lines();
  const rounds = await Promise.all(
    ids.map((paymentId) => burst('refund', 2, { paymentId, amount: eur(6_000) })),
  );
  for (const answers of rounds) {
    expect(succeeded(answers)).toBe(1);
    expect([...codes(answers)]).toEqual(['AMOUNT_LIMIT_EXCEEDED']);
  }
  expect(await moved(since)).toEqual({ refund: ROUNDS * 6_000 });
}, 120_000);

test('a void and a capture at once: one of them', async () => {
  const ids = await Promise.all(
    Array.from({ length: ROUNDS / 2 }, () => newPayment(pair[0], { captureMode: 'MANUAL' })),
  );
  const since = await lines();
  const rounds = await Promise.all(
    ids.map(async (paymentId, round) => {
      const [one, other] = round % 2 === 0 ? pair : [pair[1], pair[0]];
      return Promise.all([
        act(one, 'void', freshKey(), { paymentId }).then(acted),
        act(other, 'capture', freshKey(), { paymentId }).then(acted),
      ]);
    }),
  );
  for (const answers of rounds) expect(succeeded(answers)).toBe(1);
  expect(await lines()).toBe(since + ids.length);
}, 120_000);

test('one refund under one key, a hundred times over both processes, is one refund', async () => {
  const paymentId = await newPayment(pair[0], {});
  await simulator.scenario({ behaviour: 'slow_300', match: { kind: 'refund' } });
  const since = await lines();
  const key = freshKey();
  const replies: Reply[] = await Promise.all(
    Array.from({ length: 100 }, (_, turn) =>
      act(pair[turn % 2] as TestServer, 'refund', key, { paymentId, amount: eur(100) }),
    ),
  );
  const answers = replies.filter((reply) => codeOf(reply) === undefined).map(acted);
  expect(answers.filter(({ idempotency }) => idempotency.outcome === 'EXECUTED')).toHaveLength(1);
  expect(await moved(since)).toEqual({ refund: 100 });
  const { refunded, refundable, inDoubt } = await look(pair[1], paymentId);
  expect({ refunded, refundable, inDoubt }).toEqual({
    refunded: eur(100),
    refundable: eur(9_900),
    inDoubt: eur(0),
  });
}, 120_000);

test('what is in doubt counts, and is given back if it was never executed', async () => {
  const paymentId = await newPayment(pair[0]);
  await simulator.scenario({ behaviour: 'fail_before_500', match: { kind: 'refund' } });
  const unknown = acted(
    await act(pair[0], 'refund', freshKey(), { paymentId, amount: eur(6_000) }),
  );
  expect(unknown.payment).toMatchObject({ inDoubt: eur(6_000), refundable: eur(4_000) });
  const [more] = await burst('refund', 1, { paymentId, amount: eur(4_001) });
  expect(more?.userErrors).toMatchObject([{ maximum: eur(4_000) }]);
  // Recovery does not find it, and sends it again.
  const now = await eventually(
    () => look(pair[1], paymentId),
    ({ inDoubt }) => inDoubt.amountMinor === 0,
    120_000,
  );
  expect(now.refunded).toEqual(eur(6_000));
}, 90_000);
