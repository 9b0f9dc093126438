import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Payment } from '../../src/payments/index.ts';
import { type PostgresJournal, PostgresPaymentReader } from '../../src/postgres/index.ts';
import {
  type Books,
  DECLINED,
  holdOf,
  NOT_SENT,
  newPayment,
  openBooks,
  succeeded,
} from './books.ts';

let books: Books;
let journal: PostgresJournal;
let reader: PostgresPaymentReader;
beforeAll(async () => {
  books = await openBooks();
  journal = books.journal();
  reader = new PostgresPaymentReader(books.database(), 5_000);
});
afterAll(() => books.close());

const open = async (more = {}) => holdOf(await journal.open(newPayment(more)));
const LOOKUPS = ['id', 'transactionId', 'idempotencyKey', 'pspReference'] as const;

describe('a payment', () => {
  test('is found by each of its names, by its merchant alone', async () => {
    const hold = await open({ transactionId: 'order-1', metadata: { a: [1] }, description: 'd' });
    const { payment, entry } = await journal.settle(hold, succeeded('ch_names'));
    const names = {
      id: payment.id,
      transactionId: 'order-1',
      idempotencyKey: entry.idempotencyKey,
      pspReference: 'ch_names',
    };
    for (const by of LOOKUPS) {
      expect(await reader.find(payment.merchantId, { by, value: names[by] })).toEqual(payment);
      expect(await reader.find(randomUUID(), { by, value: names[by] })).toBeUndefined();
    }
    expect(await reader.byIds(payment.merchantId, [payment.id])).toEqual([payment]);
    expect(await reader.byIds(randomUUID(), [payment.id])).toEqual([undefined]);
  });

  test.each([...LOOKUPS])('is not found by a %s that is none, whatever it is', async (by) => {
    for (const value of [
      randomUUID(),
      'none',
      '',
      '\0',
      '\ud800',
      "' or true --",
      'x'.repeat(5e3),
    ]) {
      expect(await reader.find(randomUUID(), { by, value })).toBeUndefined();
    }
  });

  test('that was not sent is hidden everywhere, and its entry is not', async () => {
    const hold = await open({ transactionId: 'hidden' });
    const { payment, entry } = await journal.settle(hold, NOT_SENT);
    const { merchantId } = payment;
    expect(await reader.find(merchantId, { by: 'id', value: payment.id })).toBeUndefined();
    expect(await reader.find(merchantId, { by: 'transactionId', value: 'hidden' })).toBeUndefined();
    const key = entry.idempotencyKey;
    expect(await reader.find(merchantId, { by: 'idempotencyKey', value: key })).toBeUndefined();
    expect(await reader.byIds(merchantId, [payment.id])).toEqual([undefined]);
    expect(await reader.page(merchantId, { first: 10, after: undefined })).toEqual([]);
    expect(await reader.entryByKey(merchantId, key)).toMatchObject({
      entry: { id: entry.id, outcomeSource: 'NOT_SENT' },
    });
  });

  test('of a transaction id used again is the live one, else the newest', async () => {
    const merchantId = randomUUID();
    const find = () => reader.find(merchantId, { by: 'transactionId', value: 'again' });
    const first = await open({ merchantId, transactionId: 'again' });
    await journal.settle(first, DECLINED);
    expect(await find()).toMatchObject({ id: first.payment.id, status: 'DECLINED' });
    const second = await open({ merchantId, transactionId: 'again' });
    expect(await find()).toMatchObject({ id: second.payment.id });
    await journal.settle(second, DECLINED);
    expect(await find()).toMatchObject({ id: second.payment.id });
  });
});

describe('payments by id', () => {
  test('come in the order that they were asked for, once for each time', async () => {
    const merchantId = randomUUID();
    const holds = await Promise.all(Array.from({ length: 30 }, () => open({ merchantId })));
    const ids = holds.map(({ payment }) => payment.id).toReversed();
    const asked = [
      ...ids,
      'no id',
      randomUUID(),
      ids[0] as string,
      (ids[1] as string).toUpperCase(),
    ];
    const found = await reader.byIds(merchantId, asked);
    expect(found.map((payment) => payment?.id)).toEqual([
      ...ids,
      undefined,
      undefined,
      ids[0],
      ids[1],
    ]);
  });

  test('of many merchants in one statement are each one’s own', async () => {
    const holds = await Promise.all(Array.from({ length: 20 }, () => open()));
    const all = holds.map(({ payment }) => payment);
    const found = await Promise.all(
      all.map(({ merchantId }) =>
        reader.byIds(
          merchantId,
          all.map(({ id }) => id),
        ),
      ),
    );
    for (const [turn, payments] of found.entries()) {
      expect(payments.filter(Boolean)).toMatchObject([{ id: all[turn]?.id }]);
    }
  });
});

describe('a page', () => {
  const idsOf = (payments: readonly Payment[]) => payments.map(({ id }) => id);

  test('is the newest first, and one more than asked for', async () => {
    const merchantId = randomUUID();
    for (let turn = 0; turn < 5; turn += 1) await open({ merchantId });
    await open();
    const all = await reader.page(merchantId, { first: 100, after: undefined });
    expect(idsOf(all)).toEqual(idsOf(all).toSorted().toReversed());
    expect(all).toHaveLength(5);
    expect(await reader.page(merchantId, { first: 2, after: undefined })).toHaveLength(3);
    expect(await reader.page(merchantId, { first: 2, after: all[4]?.id })).toHaveLength(0);
    expect(await reader.page(randomUUID(), { first: 2, after: undefined })).toHaveLength(0);
  });

  test('after page shows each payment once while others arrive and are settled', async () => {
    const merchantId = randomUUID();
    const before = await Promise.all(Array.from({ length: 25 }, () => open({ merchantId })));
    const seen: string[] = [];
    let after: string | undefined;
    for (;;) {
      const page = (await reader.page(merchantId, { first: 4, after })).slice(0, 4);
      seen.push(...idsOf(page));
      after = page.at(-1)?.id;
      if (page.length < 4) break;
      await open({ merchantId });
      const done = before[seen.length % before.length];
      if (done !== undefined) await journal.settle(done, succeeded());
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen.toSorted()).toEqual(idsOf(before.map(({ payment }) => payment)).toSorted());
  });
});
