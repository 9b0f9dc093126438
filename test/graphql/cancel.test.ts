import { afterAll, beforeAll, expect, test } from 'vitest';
import { type InProcess, startInProcess } from '../support/in-process.ts';
import { freshKey, PAY } from '../support/pay.ts';

let semel: InProcess;
let merchant: string;

beforeAll(async () => {
  semel = await startInProcess();
  merchant = await semel.merchant('cancels');
}, 60_000);

afterAll(() => semel.close());

interface Payload {
  readonly payment: { readonly id: string; readonly status: string } | null;
  readonly userErrors: readonly { readonly code: string }[];
  readonly idempotency: { readonly outcome: string };
}

const CANCEL = `mutation($key: IdempotencyKey!, $own: IdempotencyKey!) {
  cancelByIdempotencyKey(key: $key, idempotencyKey: $own) {
    payment { id status } userErrors { code } idempotency { outcome } } }`;
const REFUND = `mutation($key: IdempotencyKey!, $input: RefundPaymentInput!) {
  refundPayment(idempotencyKey: $key, input: $input) {
    payment { id status } userErrors { code } idempotency { outcome } } }`;

async function send(source: string, variables: object): Promise<Payload> {
  const { data, errors } = await semel.ask<Record<string, Payload>>(merchant, source, variables);
  if (!data) throw new Error(JSON.stringify(errors));
  return Object.values(data)[0] as Payload;
}

const amount = { amountMinor: 1_050, currency: 'EUR' };
const pay = (key: string, more: object = {}) =>
  send(PAY, { key, input: { amount, paymentMethod: 'pm_ok', ...more } });
const cancel = (key: string, own = freshKey()) => send(CANCEL, { key, own });

async function refusalOf(source: string, variables: object) {
  const { errors } = await semel.ask(merchant, source, variables);
  return errors?.[0]?.extensions;
}

const CANCELLED = { payment: null, userErrors: [{ code: 'INTENT_CANCELLED' }] };

test('a key that was never used is closed: a late request with it never reaches the PSP', async () => {
  const [key, own] = [freshKey(), freshKey()];
  const before = semel.executions();
  expect(await cancel(key, own)).toMatchObject({ payment: null, userErrors: [] });
  expect(await cancel(key, own)).toMatchObject({ idempotency: { outcome: 'REPLAYED' } });
  expect(await cancel(key)).toMatchObject({ payment: null, userErrors: [] });
  expect(await pay(key)).toMatchObject(CANCELLED);
  expect(await pay(key)).toMatchObject({ ...CANCELLED, idempotency: { outcome: 'REPLAYED' } });
  expect(semel.executions()).toBe(before);
  const { data } = await semel.ask(
    merchant,
    `query($key: IdempotencyKey!) { idempotencyKey(key: $key) { operation next payment { id } }
       payments { nodes { id } } journalEntries { nodes { amount { decimal } } }
       ledgerHealth { entriesWithoutPostings oldestInDoubt outboxLag } }`,
    { key },
  );
  expect(data).toEqual({
    idempotencyKey: { operation: 'cancelByIdempotencyKey', next: 'NEW_KEY', payment: null },
    payments: { nodes: [] },
    journalEntries: { nodes: [] },
    ledgerHealth: { entriesWithoutPostings: 0, oldestInDoubt: null, outboxLag: 0 },
  });
});

test.each([
  ['AUTOMATIC', 'REFUNDED'],
  ['MANUAL', 'VOIDED'],
])('a payment with captureMode %s is %s, once', async (captureMode, status) => {
  const [key, own] = [freshKey(), freshKey()];
  const paid = await pay(key, { captureMode });
  const before = semel.executions();
  const first = await cancel(key, own);
  expect(first).toMatchObject({ payment: { id: paid.payment?.id, status }, userErrors: [] });
  const again = await cancel(key, own);
  expect(again).toMatchObject({ payment: { status }, idempotency: { outcome: 'REPLAYED' } });
  expect(await cancel(key)).toMatchObject({ payment: { status }, userErrors: [] });
  expect(semel.executions()).toBe(before + 1);
  expect(await pay(key, { captureMode })).toMatchObject({
    payment: { status },
    idempotency: { outcome: 'REPLAYED' },
  });
});

test('what is refunded in part is refunded whole', async () => {
  const key = freshKey();
  const { payment } = await pay(key);
  const part = { paymentId: payment?.id, amount: { amountMinor: 50, currency: 'EUR' } };
  await send(REFUND, { key: freshKey(), input: part });
  expect(await cancel(key)).toMatchObject({ payment: { status: 'REFUNDED' }, userErrors: [] });
});

test('what is not known cannot be undone yet, and the same request may come again', async () => {
  const [key, own] = [freshKey(), freshKey()];
  await pay(key, { paymentMethod: 'pm_unknown' });
  for (const _ of [1, 2]) {
    expect(await cancel(key, own)).toMatchObject({
      payment: { status: 'UNKNOWN' },
      userErrors: [{ code: 'OUTCOME_UNKNOWN' }],
      idempotency: { outcome: 'IN_DOUBT' },
    });
  }
});

test('a key that was provably not sent is closed, and is not tried again', async () => {
  const key = freshKey();
  const input = { paymentMethod: 'pm_not_sent' };
  expect((await pay(key, input)).userErrors).toMatchObject([{ code: 'PSP_UNAVAILABLE' }]);
  expect(await cancel(key)).toMatchObject({ payment: null, userErrors: [] });
  expect(await pay(key, input)).toMatchObject(CANCELLED);
});

test('a declined payment needs nothing undone', async () => {
  const key = freshKey();
  await pay(key, { paymentMethod: 'pm_declined' });
  expect(await cancel(key)).toMatchObject({ payment: { status: 'DECLINED' }, userErrors: [] });
});

test("the request's own key is used up, and differs from the one that is cancelled", async () => {
  const [key, own] = [freshKey(), freshKey()];
  await cancel(key, own);
  const input = { amount, paymentMethod: 'pm_ok' };
  expect(await refusalOf(PAY, { key: own, input })).toMatchObject({
    code: 'IDEMPOTENCY_KEY_REUSED',
    reason: 'OPERATION',
  });
  expect(await refusalOf(CANCEL, { key: freshKey(), own })).toMatchObject({
    code: 'IDEMPOTENCY_KEY_REUSED',
    reason: 'PAYLOAD',
    paths: ['key'],
  });
  for (const wrong of [own, 'a b', '']) {
    expect(await refusalOf(CANCEL, { key: wrong, own })).toMatchObject({ code: 'BAD_USER_INPUT' });
  }
});

test('a payment and its cancelling at once: never money taken and said to be none', async () => {
  const before = semel.executions();
  const rounds = await Promise.all(
    Array.from({ length: 60 }, async (_, round) => {
      const key = freshKey();
      const both = [() => pay(key), () => cancel(key)];
      const [one, other] = await Promise.all(
        (round % 2 === 0 ? both : [...both].reverse()).map((start) => start()),
      );
      const [paid, undone] = round % 2 === 0 ? [one, other] : [other, one];
      return { paid: paid as Payload, undone: undone as Payload };
    }),
  );
  const taken = rounds.filter(({ paid }) => paid.userErrors.length === 0);
  for (const { paid, undone } of rounds) {
    if (paid.userErrors.length > 0) expect(paid).toMatchObject(CANCELLED);
    else
      expect([undone.userErrors[0]?.code, undone.payment?.status]).not.toEqual([
        undefined,
        undefined,
      ]);
  }
  const refunds = rounds.filter(({ undone }) => undone.payment?.status === 'REFUNDED');
  expect(semel.executions() - before).toBe(taken.length + refunds.length);
});
