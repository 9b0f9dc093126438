import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Database, PostgresEvents, PostgresJournal } from '../../src/postgres/index.ts';
import { type Books, holdOf, newPayment, openBooks, succeeded, TIMES } from './books.ts';

const BUDGET_MS = 10_000;
/** A session tells what it has read once a second has passed since the last time. */
const UNTOLD_MS = 1_100;

/** One session that writes all that a payment needs. */
function sessionOf(books: Books) {
  const database = books.database({ poolMax: 1 });
  const journal = new PostgresJournal(database, TIMES);
  const events = new PostgresEvents(database, { budgetMs: BUDGET_MS, onNumbered: () => {} });
  const pay = async (count: number) => {
    const paying = Array.from({ length: count }, async () => {
      const payment = newPayment({ merchantId: MERCHANT });
      const hold = holdOf(await journal.open(payment));
      await journal.settle(hold, succeeded());
    });
    await Promise.all(paying);
    await events.number();
  };
  return { database, number: () => events.number(), pay };
}

const { merchantId: MERCHANT } = newPayment();

/** How many rows and entries of indexes were read so far. */
async function readSoFar(books: Books, database: Database): Promise<number> {
  await sleep(UNTOLD_MS);
  await database.run('select 1', [], BUDGET_MS);
  const [seen] = await books.sql`select
    (select sum(idx_tup_read) from pg_stat_user_indexes)
    + (select sum(seq_tup_read) from pg_stat_user_tables) as rows`;
  return Number(seen?.['rows']);
}

test('a new payment reads as little among thousands as among none, also in a session that saw none', async () => {
  const books = await openBooks();
  await books.sql`vacuum analyze`;
  const { database, number, pay } = sessionOf(books);
  for (let i = 0; i < 10; i += 1) await number();
  for (let i = 0; i < 10; i += 1) await pay(1);
  const start = await readSoFar(books, database);
  await pay(100);
  const few = (await readSoFar(books, database)) - start;
  for (let i = 0; i < 20; i += 1) await pay(150);
  const grown = await readSoFar(books, database);
  await pay(100);
  const many = (await readSoFar(books, database)) - grown;
  await books.close();
  expect(few).toBeGreaterThan(100);
  expect(many).toBeLessThan(few * 1.5);
}, 60_000);
