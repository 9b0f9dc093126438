import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { type Books, holdOf, newPayment, openBooks } from '../postgres/books.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';
import { semel } from './semel.ts';

vi.setConfig({ testTimeout: 180_000 });

let books: Books;
let simulator: TestSimulator;
beforeAll(async () => {
  [books, simulator] = await Promise.all([openBooks(), startTestSimulator()]);
}, 60_000);
afterAll(async () => {
  await simulator.stop();
  await books.close();
});

test('semel recover --once ends what a dead server left, says so, and stops', async () => {
  const payment = newPayment({ psp: 'simulator' });
  const { entry } = holdOf(await books.journal().open(payment));
  await books.makeDue();
  await books.sql`update journal_entries set sent_at = clock_timestamp() - interval '1 minute'`;
  const places = { DATABASE_URL: books.url, SIMULATOR_URL: simulator.url };
  const { code, out, err } = await semel(['recover', '--once'], places);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toBe(
    '1 taken over: 1 settled, 0 still open, 0 in review, 0 lost; 1 sent again\nNothing is due.\n',
  );
  const [row] = await books.sql`select state from journal_entries where id = ${entry.id}`;
  expect(row?.['state']).toBe('SUCCEEDED');
});

test('without a PSP its variable is named', async () => {
  const { code, err } = await semel(['recover', '--once'], { DATABASE_URL: books.url });
  expect(code).toBe(1);
  expect(err).toContain('SIMULATOR_URL is not set');
});
