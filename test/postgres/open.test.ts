import { randomUUID } from 'node:crypto';
import { validate, version } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { chargeOf, type Opened } from '../../src/payments/index.ts';
import type { PostgresJournal } from '../../src/postgres/index.ts';
import {
  type Books,
  DECLINED,
  holdOf,
  NOT_SENT,
  newPayment,
  openBooks,
  REJECTED,
  succeeded,
} from './books.ts';

let books: Books;
let journal: PostgresJournal;
beforeAll(async () => {
  books = await openBooks();
  journal = books.journal();
});
afterAll(() => books.close());

const kinds = (opened: readonly Opened[]) => opened.map(({ kind }) => kind).sort();
const countOf = (kind: Opened['kind'], opened: readonly Opened[]) =>
  opened.filter((one) => one.kind === kind).length;

describe('a key', () => {
  test('opens a payment and its entry, before anything is sent', async () => {
    const asked = newPayment({
      transactionId: 'order-1',
      description: 'two tickets',
      metadata: { seat: '12A', nested: { deep: [1, null] } },
    });
    const hold = holdOf(await journal.open(asked));
    const [row] = await books.sql`
      select e.*, p.status, p.transaction_id, p.description, p.metadata, p.version,
        extract(epoch from e.lease_until - e.sent_at)::float8 as lease_s,
        extract(epoch from e.next_check_at - e.sent_at)::float8 as check_s
      from journal_entries e join payments p on p.id = e.payment_id
      where e.merchant_id = ${asked.merchantId}`;
    expect(row).toMatchObject({
      id: hold.entry.id,
      payment_id: hold.payment.id,
      idempotency_key: asked.idempotencyKey,
      operation: 'CHARGE',
      amount: '10.5000',
      amount_minor: '1050',
      currency: 'EUR',
      exponent: 2,
      fingerprint: asked.fingerprint.digest,
      state: 'SENDING',
      attempt: 1,
      owner_token: hold.ownerToken,
      psp: 'fake',
      psp_idempotency_key: hold.entry.pspIdempotencyKey,
      status: 'PROCESSING',
      transaction_id: 'order-1',
      description: 'two tickets',
      metadata: asked.metadata,
      version: 1,
    });
    expect(row?.['lease_s']).toBeCloseTo(20, 0);
    expect(row?.['check_s']).toBeCloseTo(30, 0);
    expect(hold.payment).toMatchObject({ metadata: asked.metadata, status: 'PROCESSING' });
  });

  test('has ids of version 7, made in order, and one PSP key that is derived from the entry', async () => {
    const first = holdOf(await journal.open(newPayment()));
    const second = holdOf(await journal.open(newPayment()));
    for (const id of [first.entry.id, first.payment.id]) expect(version(id)).toBe(7);
    expect(second.entry.id > first.entry.id).toBe(true);
    expect(validate(first.entry.pspIdempotencyKey)).toBe(true);
    expect(chargeOf(first)).toEqual({
      reference: first.entry.id,
      pspKey: first.entry.pspIdempotencyKey,
      amountMinor: 1_050,
      currency: 'EUR',
      paymentMethod: 'pm_ok',
    });
  });

  test('that was opened before is there, with the same payment', async () => {
    const asked = newPayment();
    const { payment, entry } = holdOf(await journal.open(asked));
    const again = await journal.open(asked);
    expect(again).toMatchObject({
      kind: 'exists',
      payment: { id: payment.id },
      entry: { id: entry.id, state: 'SENDING', psp: 'fake' },
    });
    expect(again.kind === 'exists' && again.entry.leaseLeftMs).toBeGreaterThan(10_000);
  });

  test('of another payload shows the fingerprint that it was opened with', async () => {
    const asked = newPayment();
    await journal.open(asked);
    const other = { version: 1, digest: Buffer.alloc(32, 7) };
    const again = await journal.open({ ...asked, fingerprint: other, amountMinor: 1 });
    expect(again).toMatchObject({
      kind: 'exists',
      entry: { fingerprint: asked.fingerprint.digest, amountMinor: 1_050 },
    });
  });

  test('that fifty ask for at once over two processes is opened once', async () => {
    const pair = [journal, books.journal()];
    const asked = newPayment();
    const opened = await Promise.all(
      Array.from({ length: 50 }, (_, turn) => pair[turn % 2]?.open(asked) as Promise<Opened>),
    );
    expect(countOf('opened', opened)).toBe(1);
    expect(countOf('exists', opened)).toBe(49);
    const ids = opened.map((one) =>
      one.kind === 'opened' ? one.hold.payment.id : one.kind === 'exists' ? one.payment.id : null,
    );
    expect(new Set(ids).size).toBe(1);
  });

  test('is each merchant’s own', async () => {
    const asked = newPayment();
    const mine = holdOf(await journal.open(asked));
    const yours = holdOf(await journal.open({ ...asked, merchantId: randomUUID() }));
    expect(yours.payment.id).not.toBe(mine.payment.id);
    expect(yours.entry.pspIdempotencyKey).not.toBe(mine.entry.pspIdempotencyKey);
  });

  test('of upper and lower case are two keys', async () => {
    const asked = newPayment({ idempotencyKey: 'Order/1' });
    await journal.open(asked);
    expect((await journal.open({ ...asked, idempotencyKey: 'order/1' })).kind).toBe('opened');
  });
});

describe('a transaction id', () => {
  test('has one live payment, whatever the key', async () => {
    const asked = newPayment({ transactionId: 'order-2' });
    const { payment } = holdOf(await journal.open(asked));
    const other = { ...asked, idempotencyKey: 'another-key' };
    expect(await journal.open(other)).toEqual({
      kind: 'transaction-id-taken',
      paymentId: payment.id,
    });
    await journal.settle(holdOf(await journal.open(newPayment())), succeeded());
    expect((await journal.open(other)).kind).toBe('transaction-id-taken');
    expect((await journal.open({ ...other, merchantId: randomUUID() })).kind).toBe('opened');
  });

  test('leaves no trace of the key that was refused for it', async () => {
    const asked = newPayment({ transactionId: 'order-3' });
    await journal.open(asked);
    const refused = { ...asked, idempotencyKey: 'corrected-later' };
    await journal.open(refused);
    expect((await journal.open({ ...refused, transactionId: 'order-4' })).kind).toBe('opened');
  });

  test('of two keys in one batch: one is opened, the other is told', async () => {
    const asked = newPayment({ transactionId: 'order-5' });
    const neighbours = Array.from({ length: 20 }, () => newPayment());
    const [one, two, ...others] = await Promise.all(
      [asked, { ...asked, idempotencyKey: 'the-other' }, ...neighbours].map((each) =>
        journal.open(each),
      ),
    );
    expect(kinds([one, two] as Opened[])).toEqual(['opened', 'transaction-id-taken']);
    expect(countOf('opened', others)).toBe(20);
  });

  test('of many keys over two processes at once: one is opened, the others are told', async () => {
    const pair = [journal, books.journal()];
    for (let round = 0; round < 10; round += 1) {
      const asked = newPayment({ transactionId: `race-${round}` });
      const opened = await Promise.all(
        Array.from({ length: 8 }, (_, turn) =>
          pair[turn % 2]?.open({ ...asked, idempotencyKey: `key-${turn}` }),
        ) as Promise<Opened>[],
      );
      expect(countOf('opened', opened)).toBe(1);
      expect(countOf('transaction-id-taken', opened)).toBe(7);
    }
  });

  test.each([
    ['was declined', DECLINED],
    ['failed', REJECTED],
    ['was never sent', NOT_SENT],
  ])('is free again after its payment %s; the key is not', async (_, conclusion) => {
    const asked = newPayment({ transactionId: 'order-6' });
    const hold = holdOf(await journal.open(asked));
    await journal.settle(hold, conclusion);
    const opened = await journal.open({ ...asked, idempotencyKey: 'next-try' });
    expect(opened.kind).toBe('opened');
    expect((await journal.open(asked)).kind).toBe('exists');
  });

  test('is held by a payment in doubt', async () => {
    const asked = newPayment({ transactionId: 'order-7' });
    const hold = holdOf(await journal.open(asked));
    await journal.settle(hold, { ...NOT_SENT, state: 'UNKNOWN', source: null, nextCheckMs: 1_000 });
    expect((await journal.open({ ...asked, idempotencyKey: 'other' })).kind).toBe(
      'transaction-id-taken',
    );
  });
});
