import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { chargeOf } from '../../src/payments/index.ts';
import { createSimulatorPsp } from '../../src/psp/simulator.ts';
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

test('three recoverers over hundreds of entries: each is asked about once, and ended once', async () => {
  const count = 450;
  const journal = books.journal();
  const holds = await Promise.all(
    Array.from({ length: count }, async () =>
      holdOf(await journal.open(newPayment({ psp: 'simulator' }))),
    ),
  );
  const ids = holds.map(({ entry }) => entry.id);
  // Half of them were executed before the server died: those are only to be found.
  const psp = createSimulatorPsp({ url: simulator.url, timeoutMs: 20_000 });
  const executed = holds.filter((_, at) => at % 2 === 0);
  await Promise.all(executed.map((hold) => psp.charge(chargeOf(hold))));
  await psp.close();
  await books.makeDue();
  await books.sql`update journal_entries set sent_at = clock_timestamp() - interval '1 minute'
    where state = 'SENDING'`;
  const places = { DATABASE_URL: books.url, SIMULATOR_URL: simulator.url };
  const ran = await Promise.all([1, 2, 3].map(() => semel(['recover', '--once'], places)));
  expect(ran.map(({ code, err }) => ({ code, err }))).toEqual(Array(3).fill({ code: 0, err: '' }));
  const told = ran.map(({ out }) => [...out.matchAll(/(\d+) taken over: (\d+) settled/g)]);
  const sum = (part: number) =>
    told.flat().reduce((all, match) => all + Number(match[part] ?? 0), 0);
  expect([sum(1), sum(2)]).toEqual([count, count]);
  // On a busy machine the last to start may find nothing left to do.
  expect(ran.filter(({ out }) => /^\d+ of \d+ due: /.test(out))).not.toEqual([]);

  const rows = await books.sql`select id, state, attempt,
    (select count(*)::int from postings p where p.entry_id = e.id) as legs
    from journal_entries e where id in ${books.sql(ids)}`;
  expect(rows).toHaveLength(count);
  expect(rows.filter((row) => row['state'] !== 'SUCCEEDED' || row['legs'] !== 2)).toEqual([]);
  // The first attempt was the dead server's; one more means one take-over, by one of the three.
  expect(rows.filter((row) => row['attempt'] !== 2)).toEqual([]);
  const mine = new Set(ids);
  const requests = (await simulator.requests()).filter(({ reference }) =>
    mine.has(reference ?? ''),
  );
  expect(requests.filter(({ method }) => method === 'GET')).toHaveLength(count);
  expect(requests.filter(({ method }) => method === 'POST')).toHaveLength(count);
  const executions = (await simulator.executions()).filter(({ reference }) => mine.has(reference));
  expect(executions).toHaveLength(count);
});

test('semel recover --watch says what is open until it is told to stop', async () => {
  const places = { DATABASE_URL: books.url, SIMULATOR_URL: simulator.url };
  const { code, out } = await semel(['recover', '--watch'], places, /Open: .* due; .*\n/);
  expect(code).toBe(0);
  expect(out).toMatch(
    /^Recovery runs\.\nOpen: 0 SENDING, 0 UNKNOWN, 0 PENDING, 0 IN_REVIEW; 0 due/,
  );
});

test('without a PSP its variable is named', async () => {
  const { code, err } = await semel(['recover', '--once'], { DATABASE_URL: books.url });
  expect(code).toBe(1);
  expect(err).toContain('SIMULATOR_URL is not set');
});
