import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Hold, MAX_AMOUNT_MINOR } from '../../src/payments/index.ts';
import type { PostgresJournal } from '../../src/postgres/index.ts';
import { type Books, holdOf, newPayment, openBooks, succeeded } from './books.ts';

/** Postgres’ classes: 22 the data is impossible, 23 a constraint forbids it. */
const REFUSED = { code: expect.stringMatching(/^2[23]/) };

let books: Books;
let journal: PostgresJournal;
beforeAll(async () => {
  books = await openBooks();
  journal = books.journal();
});
afterAll(() => books.close());

const open = async (more = {}) => holdOf(await journal.open(newPayment(more)));
const settledOne = async () => {
  const hold = await open();
  await journal.settle(hold, succeeded());
  return hold;
};

interface Leg {
  readonly direction: 'DEBIT' | 'CREDIT';
  readonly amount: number | bigint;
  readonly currency?: string;
  readonly leg?: number;
  readonly account?: string;
}

type Post = (hold: Hold, legs: readonly Leg[]) => Promise<unknown>;

const rowsOf = (legs: readonly Leg[]) =>
  legs.map(({ direction, amount, currency, leg, account }, index) => ({
    leg: leg ?? index + 1,
    account: account ?? 'psp_clearing',
    direction,
    amount: String(amount),
    currency: currency ?? 'EUR',
  }));

/** All legs in one statement, as T2 writes them. */
const together: Post = ({ entry }, legs) => books.sql`
  insert into postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency)
  select ${entry.merchantId}, ${entry.id}, r.leg, r.account, r.direction, r.amount::numeric, r.currency
  from json_to_recordset(${JSON.stringify(rowsOf(legs))}::text::json)
    as r(leg smallint, account text, direction text, amount text, currency text)`;

const oneByOne: Post = ({ entry }, legs) =>
  books.sql.begin(async (sql) => {
    for (const { leg, account, direction, amount, currency } of rowsOf(legs)) {
      await sql`
        insert into postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency)
        values (${entry.merchantId}, ${entry.id}, ${leg}, ${account}, ${direction}, ${amount}, ${currency})`;
    }
  });

describe.each([
  ['in one statement', together],
  ['in several statements of one commit', oneByOne],
])('postings %s', (_, post) => {
  const pair = (amount: number | bigint, currency = 'EUR'): Leg[] => [
    { direction: 'DEBIT', amount, currency },
    { direction: 'CREDIT', amount, currency },
  ];

  test('are kept if they balance', async () => {
    const hold = await open();
    await post(hold, pair(1_050));
    const rows = await books.sql`select 1 from postings where entry_id = ${hold.entry.id}`;
    expect(rows).toHaveLength(2);
    expect(await books.sql`select 1 from postings_to_balance`).toHaveLength(0);
  });

  test('that do not balance are refused also after legs that do', async () => {
    const hold = await open();
    await post(hold, pair(1_050));
    await expect(post(hold, [{ direction: 'DEBIT', amount: 5, leg: 3 }])).rejects.toMatchObject(
      REFUSED,
    );
  });

  test('of another entry balance nothing', async () => {
    const holds = [await open(), await open()];
    const crossed = books.sql`
      insert into postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency)
      select merchant_id, id, 1, 'psp_clearing',
        case when id = ${holds[0]?.entry.id ?? ''} then 'DEBIT' else 'CREDIT' end, 1050, 'EUR'
      from journal_entries where id in ${books.sql(holds.map(({ entry }) => entry.id))}`;
    await expect(crossed).rejects.toMatchObject(REFUSED);
  });

  test('may have many legs, if they balance', async () => {
    await post(await open(), [
      { direction: 'DEBIT', amount: 1_050 },
      { direction: 'CREDIT', amount: 1_000 },
      { direction: 'CREDIT', amount: 50 },
    ]);
  });

  test('of the largest amounts do not overflow the sum', async () => {
    await post(await open(), [
      ...pair(MAX_AMOUNT_MINOR),
      ...pair(MAX_AMOUNT_MINOR).map((leg, index) => ({ ...leg, leg: index + 3 })),
    ]);
  });

  test.each<[string, Leg[]]>([
    ['with one leg', [{ direction: 'DEBIT', amount: 1_050 }]],
    [
      'that do not balance',
      [
        { direction: 'DEBIT', amount: 1_050 },
        { direction: 'CREDIT', amount: 1_049 },
      ],
    ],
    [
      'that are both debits',
      [
        { direction: 'DEBIT', amount: 1_050 },
        { direction: 'DEBIT', amount: 1_050 },
      ],
    ],
    ['of nothing', pair(0)],
    ['of a negative amount', pair(-1_050)],
    ['above the cap', pair(MAX_AMOUNT_MINOR + 1)],
    ['that overflow a bigint', pair(2n ** 63n)],
    ['in another currency than the entry', pair(1_050, 'USD')],
    [
      'that balance only across currencies',
      [
        { direction: 'DEBIT', amount: 1_050, currency: 'EUR' },
        { direction: 'CREDIT', amount: 1_050, currency: 'USD' },
      ],
    ],
    [
      'in a direction that there is not',
      [
        { direction: 'SIDEWAYS' as 'DEBIT', amount: 1_050 },
        { direction: 'CREDIT', amount: 1_050 },
      ],
    ],
    ['with a leg that is none', pair(1_050).map((leg, index) => ({ ...leg, leg: index }))],
    ['with one leg twice', pair(1_050).map((leg) => ({ ...leg, leg: 1 }))],
  ])('%s are refused', async (_, legs) => {
    const hold = await open();
    await expect(post(hold, legs)).rejects.toMatchObject(REFUSED);
    const rows = await books.sql`select 1 from postings where entry_id = ${hold.entry.id}`;
    expect(rows).toHaveLength(0);
  });

  test('cannot be balanced by somebody else’s commit', async () => {
    const hold = await open();
    const halves = await Promise.allSettled([
      post(hold, [{ direction: 'DEBIT', amount: 1, leg: 1 }]),
      post(hold, [{ direction: 'CREDIT', amount: 1, leg: 2 }]),
    ]);
    expect(halves.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  test('need an entry', async () => {
    const hold = await open();
    const nowhere = { ...hold, entry: { ...hold.entry, id: randomUUID() } };
    await expect(post(nowhere, pair(1))).rejects.toMatchObject({ code: '23503' });
    const elsewhere = { ...hold, entry: { ...hold.entry, merchantId: randomUUID() } };
    await expect(post(elsewhere, pair(1))).rejects.toMatchObject({ code: '23503' });
  });
});

describe('what was written once', () => {
  beforeAll(async () => {
    const hold = await settledOne();
    await books.makeDue();
    // A conclusion of somebody who is no owner is kept as an observation.
    await journal.settle({ ...hold, ownerToken: randomUUID() }, succeeded());
  });

  const columns = {
    postings: 'amount_minor = amount_minor + 1',
    psp_observations: "state = 'DECLINED'",
    outbox_events: "type = 'charge.declined'",
    journal_entries: 'amount_minor = amount_minor',
    payments: 'version = version',
  } as const;
  const tables = Object.keys(columns) as (keyof typeof columns)[];
  const appendOnly = ['postings', 'psp_observations', 'outbox_events'] as const;

  test.each(tables)('is there to be tried: %s', async (table) => {
    expect((await books.sql`select 1 from ${books.sql(table)}`).length).toBeGreaterThan(0);
  });

  test.each(appendOnly)('%s: UPDATE is refused', async (table) => {
    const update = books.sql.unsafe(`update ${table} set ${columns[table]}`);
    await expect(update).rejects.toMatchObject(REFUSED);
  });

  test.each(tables)('%s: DELETE is refused', async (table) => {
    await expect(books.sql.unsafe(`delete from ${table}`)).rejects.toMatchObject(REFUSED);
  });

  test.each(tables)('%s: TRUNCATE is refused', async (table) => {
    await expect(books.sql.unsafe(`truncate ${table} cascade`)).rejects.toMatchObject({
      code: '23001',
    });
  });
});
