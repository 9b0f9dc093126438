import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exponentOf, MAX_AMOUNT_MINOR, type Opened } from '../../src/payments/index.ts';
import type { PostgresJournal } from '../../src/postgres/index.ts';
import { type Books, holdOf, newPayment, openBooks, succeeded } from './books.ts';

let books: Books;
let journal: PostgresJournal;
beforeAll(async () => {
  books = await openBooks();
  journal = books.journal();
});
afterAll(() => books.close());

const countOf = (kind: Opened['kind'], opened: readonly Opened[]) =>
  opened.filter((one) => one.kind === kind).length;

describe('a batch', () => {
  test.each([
    ['NUL in the description', { description: 'a\0b' }],
    ['NUL in the metadata', { metadata: { note: '\0' } }],
    ['a lone surrogate', { description: '\ud800' }],
    ['a key with a space', { idempotencyKey: 'not visible' }],
    ['a key of 256 characters', { idempotencyKey: 'k'.repeat(256) }],
    ['an amount of nothing', { amountMinor: 0 }],
    ['a negative amount', { amountMinor: -1 }],
    ['an amount above the cap', { amountMinor: MAX_AMOUNT_MINOR + 1 }],
  ])('with %s: that one fails, its neighbours do not', async (_, bad) => {
    const before = Array.from({ length: 7 }, () => journal.open(newPayment()));
    const refused = journal.open(newPayment(bad));
    const after = Array.from({ length: 7 }, () => journal.open(newPayment()));
    await expect(refused).rejects.toMatchObject({ code: expect.stringMatching(/^2[23]/) });
    expect(countOf('opened', await Promise.all([...before, ...after]))).toBe(14);
  });

  test('of a thousand is a few statements', async () => {
    const merchantId = randomUUID();
    const opened = await Promise.all(
      Array.from({ length: 1_000 }, () => journal.open(newPayment({ merchantId }))),
    );
    expect(countOf('opened', opened)).toBe(1_000);
    const [row] = await books.sql`
      select count(distinct created_at)::int as commits from payments
      where merchant_id = ${merchantId}`;
    expect(row?.['commits']).toBeLessThan(20);
  });
});

describe('the largest amount', () => {
  test.each([
    ['JPY', '99999999999999.0000'],
    ['USD', '999999999999.9900'],
    ['KWD', '99999999999.9990'],
    ['CLF', '9999999999.9999'],
  ])('of %s is exact in every column and back again', async (currency, amount) => {
    const asked = newPayment({ amountMinor: MAX_AMOUNT_MINOR, currency });
    const hold = holdOf(await journal.open(asked));
    const settled = await journal.settle(hold, succeeded());
    expect(settled.payment).toMatchObject({
      amountMinor: MAX_AMOUNT_MINOR,
      capturedMinor: MAX_AMOUNT_MINOR,
      authorizedMinor: MAX_AMOUNT_MINOR,
    });
    const [entry] = await books.sql`
      select amount, amount_minor, exponent from journal_entries where id = ${hold.entry.id}`;
    expect(entry).toEqual({
      amount,
      amount_minor: String(MAX_AMOUNT_MINOR),
      exponent: exponentOf(currency),
    });
    const legs = await books.sql`
      select direction, amount_minor, currency from postings
      where entry_id = ${hold.entry.id} order by leg`;
    expect([...legs]).toEqual([
      { direction: 'DEBIT', amount_minor: String(MAX_AMOUNT_MINOR), currency },
      { direction: 'CREDIT', amount_minor: String(MAX_AMOUNT_MINOR), currency },
    ]);
    const again = await journal.open(asked);
    expect(again).toMatchObject({ entry: { amountMinor: MAX_AMOUNT_MINOR } });
  });
});
