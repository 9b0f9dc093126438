import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Hold } from '../../src/payments/index.ts';
import type { PostgresJournal } from '../../src/postgres/index.ts';
import { type Books, holdOf, newPayment, openBooks, succeeded } from './books.ts';

let books: Books;
let journal: PostgresJournal;
beforeAll(async () => {
  books = await openBooks();
  journal = books.journal();
});
afterAll(() => books.close());

const open = async (more = {}) => holdOf(await journal.open(newPayment(more)));
const postingsOf = ({ entry }: Hold) => books.sql`
  select leg, account, direction, amount_minor::int, currency from postings
  where entry_id = ${entry.id} order by leg`;
const observationsOf = ({ entry }: Hold) => books.sql`
  select state, outcome_source, psp_reference, attempt from psp_observations
  where entry_id = ${entry.id} order by created_at`;
const rowOf = async ({ entry }: Hold) => {
  const [row] = await books.sql`
    select e.state, e.attempt, e.outcome_source, e.psp_reference, e.decline_code, e.settled_at,
      e.next_check_at, p.status, p.version, p.captured_minor::int, p.authorized_minor::int
    from journal_entries e join payments p on p.id = e.payment_id where e.id = ${entry.id}`;
  return row;
};

describe('a PSP reference that is another payment’s already', () => {
  test('is not booked twice: first in doubt, then in review, and the evidence is kept', async () => {
    const merchantId = randomUUID();
    const first = await open({ merchantId });
    await journal.settle(first, succeeded('ch_taken'));
    const second = await open({ merchantId });
    const settled = await journal.settle(second, succeeded('ch_taken'));
    expect(settled).toMatchObject({
      moved: true,
      entry: { state: 'UNKNOWN', pspReference: null, reason: 'the reference of another payment' },
      payment: { status: 'UNKNOWN', capturedMinor: 0 },
    });
    expect([...(await observationsOf(second))]).toMatchObject([
      { state: 'SUCCEEDED', psp_reference: 'ch_taken' },
    ]);

    await books.makeDue();
    const doubts = await journal.takeOver(1_000, 'fake');
    const doubt = doubts.find(({ entry }) => entry.id === second.entry.id) as Hold;
    const found = { ...succeeded('ch_taken'), source: 'INQUIRY' as const };
    expect(await journal.settle(doubt, found)).toMatchObject({
      moved: true,
      entry: { state: 'IN_REVIEW', reason: 'the reference of another payment' },
      payment: { status: 'IN_REVIEW' },
    });
    expect(await postingsOf(second)).toHaveLength(0);
    expect(await rowOf(first)).toMatchObject({ state: 'SUCCEEDED' });
  });

  test('of another merchant is no concern', async () => {
    await journal.settle(await open(), succeeded('ch_of_two'));
    const settled = await journal.settle(await open(), succeeded('ch_of_two'));
    expect(settled.entry.state).toBe('SUCCEEDED');
  });
});
