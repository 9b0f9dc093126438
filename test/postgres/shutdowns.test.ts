import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Hold, JournalUnavailable } from '../../src/payments/index.ts';
import { migrate } from '../../src/postgres/administration.ts';
import { unsafeSettings } from '../../src/postgres/index.ts';
import { startTestPostgres, type TestPostgres } from '../support/with-postgres.ts';
import { type Books, booksAt, MIGRATIONS, newPayment, succeeded } from './books.ts';

vi.setConfig({ testTimeout: 120_000 });

const SHUTDOWNS = 5;
const AT_ONCE = 16;

let server: TestPostgres;
let books: Books;
const uncaught: unknown[] = [];
const note = (error: unknown) => void uncaught.push(error);
beforeAll(async () => {
  server = await startTestPostgres({ durable: true });
  await migrate(server.url, MIGRATIONS);
  books = booksAt(server.url, async () => {});
  process.on('unhandledRejection', note).on('uncaughtException', note);
}, 120_000);
afterAll(async () => {
  process.off('unhandledRejection', note).off('uncaughtException', note);
  await books.close();
  await server.remove();
});

test('five immediate shutdowns under load: nothing lost, nothing hung, nothing uncaught', async () => {
  const journal = books.journal(
    { openBudgetMs: 1_500, settleBudgetMs: 1_500 },
    { statementMs: 700 },
  );
  const opened: Hold[] = [];
  const settled: Hold[] = [];
  const problems: unknown[] = [];
  let running = true;
  const client = async () => {
    while (running) {
      try {
        const answer = await journal.open(newPayment());
        if (answer.kind !== 'opened') throw new Error(`not opened: ${answer.kind}`);
        opened.push(answer.hold);
        const { moved } = await journal.settle(answer.hold, succeeded());
        if (moved) settled.push(answer.hold);
      } catch (error) {
        if (!(error instanceof JournalUnavailable)) problems.push(error);
        await sleep(20);
      }
    }
  };
  const clients = Array.from({ length: AT_ONCE }, client);
  for (let shutdown = 0; shutdown < SHUTDOWNS; shutdown += 1) {
    const before = settled.length;
    await vi.waitUntil(() => settled.length > before + 50, { timeout: 20_000, interval: 10 });
    await server.immediateStop();
    await server.start();
  }
  const before = settled.length;
  await vi.waitUntil(() => settled.length > before + 50, { timeout: 20_000, interval: 10 });
  running = false;
  await Promise.all(clients);

  const rows = await books.sql`
    select e.id, e.state, (select count(*)::int from postings p where p.entry_id = e.id) as legs
    from journal_entries e`;
  const byId = new Map(rows.map((row) => [row['id'], row]));
  expect(opened.filter(({ entry }) => !byId.has(entry.id))).toEqual([]);
  const wrong = settled.filter(({ entry }) => {
    const row = byId.get(entry.id);
    return row?.['state'] !== 'SUCCEEDED' || row['legs'] !== 2;
  });
  expect(wrong).toEqual([]);
  expect(rows.filter((row) => row['legs'] !== (row['state'] === 'SUCCEEDED' ? 2 : 0))).toEqual([]);
  expect(problems).toEqual([]);
  expect(uncaught).toEqual([]);
});

test('and none of its settings would let it forget', async () => {
  expect(await unsafeSettings(books.database())).toEqual([]);
});
