import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JournalUnavailable, type NewPayment, type Recorded } from '../../src/payments/index.ts';
import type { PostgresJournal } from '../../src/postgres/index.ts';
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
beforeAll(async () => {
  books = await openBooks();
  journal = books.journal();
});
afterAll(() => books.close());

async function released(asked: NewPayment = newPayment()): Promise<Recorded> {
  return journal.settle(holdOf(await journal.open(asked)), NOT_SENT);
}

describe('an entry that was not sent', () => {
  test('is opened again: the next attempt, the same PSP key, a lease of its own', async () => {
    const before = await released();
    const hold = holdOf(await journal.reopen(before));
    expect(hold.entry).toMatchObject({
      id: before.entry.id,
      attempt: 2,
      state: 'SENDING',
      outcomeSource: null,
      reason: null,
      settledAt: null,
      pspIdempotencyKey: before.entry.pspIdempotencyKey,
    });
    expect(hold.entry.leaseLeftMs).toBeGreaterThan(15_000);
    expect(hold.payment).toMatchObject({ id: before.payment.id, status: 'PROCESSING' });
    expect(await journal.settle(hold, succeeded())).toMatchObject({
      moved: true,
      entry: { state: 'SUCCEEDED', attempt: 2 },
    });
  });

  test('by two processes and many requests at once: one opens it', async () => {
    const pair = [journal, books.journal()];
    const before = await released();
    const reopened = await Promise.all(
      Array.from({ length: 20 }, (_, turn) => pair[turn % 2]?.reopen(before)),
    );
    expect(reopened.filter((one) => one?.kind === 'opened')).toHaveLength(1);
    for (const other of reopened.filter((one) => one?.kind !== 'opened')) {
      expect(other).toMatchObject({ kind: 'exists', entry: { state: 'SENDING', attempt: 2 } });
    }
  });

  test('and many of them at once, in any order, by two processes: each is opened once', async () => {
    const pair = [journal, books.journal()];
    const all = await Promise.all(Array.from({ length: 60 }, () => released()));
    const both = await Promise.all([
      Promise.all(all.map((one) => pair[0]?.reopen(one))),
      Promise.all(all.toReversed().map((one) => pair[1]?.reopen(one))),
    ]);
    expect(both.flat().filter((one) => one?.kind === 'opened')).toHaveLength(60);
  });

  test('again and again keeps one PSP key', async () => {
    let recorded = await released();
    const { pspIdempotencyKey } = recorded.entry;
    for (let attempt = 2; attempt <= 5; attempt += 1) {
      const hold = holdOf(await journal.reopen(recorded));
      expect(hold.entry).toMatchObject({ attempt, pspIdempotencyKey });
      recorded = await journal.settle(hold, NOT_SENT);
    }
  });

  test('leaves an owner of the earlier attempt without a say', async () => {
    const asked = newPayment();
    const first = holdOf(await journal.open(asked));
    await journal.reopen(await journal.settle(first, NOT_SENT));
    expect(await journal.settle(first, succeeded())).toMatchObject({
      moved: false,
      entry: { state: 'SENDING', attempt: 2 },
    });
  });

  test('whose transaction id was taken meanwhile stays as it is', async () => {
    const asked = newPayment({ transactionId: 'order-1' });
    const before = await released(asked);
    const other = holdOf(await journal.open({ ...asked, idempotencyKey: 'quicker' }));
    expect(await journal.reopen(before)).toEqual({
      kind: 'transaction-id-taken',
      paymentId: other.payment.id,
    });
    await journal.settle(other, DECLINED);
    expect((await journal.reopen(before)).kind).toBe('opened');
  });

  test('beside one whose transaction id was taken is opened all the same', async () => {
    const asked = newPayment({ transactionId: 'order-2' });
    const refused = await released(asked);
    await journal.open({ ...asked, idempotencyKey: 'quicker' });
    const others = await Promise.all(Array.from({ length: 5 }, () => released()));
    const reopened = await Promise.all([refused, ...others].map((one) => journal.reopen(one)));
    expect(reopened.map(({ kind }) => kind)).toEqual([
      'transaction-id-taken',
      ...others.map(() => 'opened'),
    ]);
  });
});

test.each([
  ['succeeded', succeeded()],
  ['was declined', DECLINED],
  ['is in doubt', { ...NOT_SENT, state: 'UNKNOWN' as const, source: null, nextCheckMs: 1_000 }],
])('an entry that %s is never opened again', async (_, conclusion) => {
  const recorded = await journal.settle(holdOf(await journal.open(newPayment())), conclusion);
  expect(await journal.reopen(recorded)).toMatchObject({
    kind: 'exists',
    entry: { state: conclusion.state, attempt: 1 },
  });
});

test('an entry that does not exist cannot be opened again', async () => {
  const { entry, payment } = await released();
  const nowhere = { ...entry, id: payment.id, idempotencyKey: 'none' };
  await expect(journal.reopen({ entry: nowhere, payment })).rejects.toBeInstanceOf(
    JournalUnavailable,
  );
});
