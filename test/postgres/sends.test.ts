import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createPayment, type Psp } from '../../src/payments/index.ts';
import { PostgresJournal, PostgresPaymentReader } from '../../src/postgres/index.ts';
import { chargesOnly } from '../support/charges-only.ts';
import { type Books, newPayment, openBooks, TIMES } from './books.ts';
import { fairMs } from './fair-time.ts';

let books: Books;
beforeAll(async () => {
  books = await openBooks();
});
afterAll(() => books.close());

test('a slow PSP holds no connection and no transaction: reads are answered meanwhile', async () => {
  let asked = 0;
  let answered = 0;
  const psp: Psp = {
    ...chargesOnly,
    name: 'fake',
    keyWindowMs: 86_400_000,
    settlingMs: 0,
    askAgainMs: 60_000,
    async charge({ reference, amountMinor, currency }) {
      asked += 1;
      await sleep(900);
      answered += 1;
      return { kind: 'succeeded', pspReference: `ch_${reference}`, amountMinor, currency };
    },
    find: async () => ({ kind: 'none' }),
  };
  const database = books.database({ poolMax: 5 });
  const journal = new PostgresJournal(database, TIMES);
  const reader = new PostgresPaymentReader(database, 5_000);
  const known = newPayment();
  const deps = { journal, psp, now: () => performance.now(), leaseMs: 20_000, pspTimeoutMs: 5_000 };
  const payments = Promise.all(
    Array.from({ length: 25 }, (_, turn) =>
      createPayment(deps, turn === 0 ? known : newPayment({ merchantId: known.merchantId })),
    ),
  );
  const readMs: number[] = [];
  const busy: unknown[] = [];
  while (answered < 25) {
    const lookup = { by: 'idempotencyKey', value: known.idempotencyKey } as const;
    readMs.push(await fairMs(reader.find(known.merchantId, lookup)));
    if (asked === 25 && answered === 0) {
      const sessions = await books.sql`
        select state, query from pg_stat_activity
        where application_name = 'semel' and datname = current_database() and state <> 'idle'`;
      busy.push(...sessions);
    }
    await sleep(50);
  }
  const ended = await payments;
  expect(ended.map(({ kind }) => kind)).toEqual(Array.from({ length: 25 }, () => 'done'));
  expect(asked).toBe(25);
  expect(busy).toEqual([]);
  expect(readMs.length).toBeGreaterThan(3);
  expect(Math.max(...readMs)).toBeLessThan(500);
  const [row] = await books.sql`select count(*)::int as rows from journal_entries`;
  expect(row?.['rows']).toBe(25);
});
