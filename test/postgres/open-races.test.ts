import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FollowUpOpened } from '../../src/payments/index.ts';
import { PostgresFollowUps } from '../../src/postgres/index.ts';
import { draftOf, openRow } from '../../src/postgres/open-rows.ts';
import { OPEN } from '../../src/postgres/statements.ts';
import { TakeBack } from '../../src/postgres/take-back.ts';
import { eventually } from '../support/pay.ts';
import { type Books, holdOf, newPayment, openBooks, succeeded, TIMES } from './books.ts';

/**
 * A T1 whose reply never came is run again, or taken back, while its first run may still be on its
 * way: then two statements write one row at once. Whichever is late must see that, and not be
 * refused by the first index that happens to notice.
 */
let books: Books;
beforeAll(async () => {
  books = await openBooks();
});
afterAll(() => books.close());

/** Makes everything that is started inside wait, and lets it go at once. */
const atOnce = (start: () => void) =>
  books.sql.begin(async (sql) => {
    await sql`lock table journal_entries in share row exclusive mode`;
    start();
    await eventually(
      () => books.sql`select 1 from pg_locks
        where relation = 'journal_entries'::regclass and not granted`,
      (waiting) => waiting.length > 1,
    );
  });

test('the same T1 from two connections at once: one writes it, the other is not refused', async () => {
  const databases = [books.database(), books.database()];
  for (let round = 0; round < 50; round += 1) {
    const rows = JSON.stringify([openRow(draftOf(newPayment()), 20_000, 30_000)]);
    let both: Promise<unknown[][]> | undefined;
    await atOnce(() => {
      both = Promise.all(databases.map((database) => database.run(OPEN, [rows], 9_000)));
    });
    const written = await both;
    expect(written?.map(({ length }) => length).sort()).toEqual([0, 1]);
  }
});

test('a refund whose first T1 is still waiting when it is run again: it is opened, once', async () => {
  const paid = holdOf(await books.journal().open(newPayment()));
  const { payment } = await books.journal().settle(paid, succeeded());
  const followUps = new PostgresFollowUps(books.database({ statementMs: 300 }), TIMES);
  const { merchantId, currency } = payment;
  const asked = {
    merchantId,
    currency,
    psp: 'fake',
    paymentId: payment.id,
    operation: 'REFUND' as const,
  };
  const { fingerprint } = newPayment();
  const more = { amountMinor: 1, expectedVersion: null, request: {}, fingerprint };
  let opened: Promise<FollowUpOpened> | undefined;
  await atOnce(() => {
    opened = followUps.open({ ...asked, ...more, idempotencyKey: 'refund' });
  });
  expect(await opened).toMatchObject({ kind: 'opened', hold: { entry: { attempt: 1 } } });
  const [reserved] = await books.sql`
    select refund_reserved_minor::int from payments where id = ${payment.id}`;
  expect(reserved).toEqual({ refund_reserved_minor: 1 });
});

test('a T1 and its taking back at once: nothing is left to be sent', async () => {
  const takeBack = new TakeBack(books.database());
  const database = books.database();
  const merchantId = randomUUID();
  for (let round = 0; round < 50; round += 1) {
    const draft = draftOf(newPayment({ merchantId }));
    const rows = JSON.stringify([openRow(draft, 20_000, 30_000)]);
    let late: Promise<unknown> | undefined;
    await atOnce(() => {
      late = database.run(OPEN, [rows], 9_000);
      takeBack.open(draft);
    });
    await late;
  }
  await eventually(
    () => books.sql`select state, outcome_source, attempt, count(*)::int from journal_entries
      where merchant_id = ${merchantId} group by 1, 2, 3`,
    ([one, ...more]) => more.length === 0 && one?.['count'] === 50 && one['state'] === 'FAILED',
  );
});
