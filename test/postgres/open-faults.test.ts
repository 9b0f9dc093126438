import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JournalUnavailable, type NewPayment, type Recorded } from '../../src/payments/index.ts';
import { eventually } from '../support/pay.ts';
import { type Books, holdOf, NOT_SENT, newPayment, openBooks } from './books.ts';
import { fairMs } from './fair-time.ts';
import { withFaultyWay } from './faulty-way.ts';

let books: Books;
beforeAll(async () => {
  books = await openBooks();
});
afterAll(() => books.close());

const QUICK = { statementMs: 400, openBudgetMs: 1_000 } as const;

const stateOf = async ({ merchantId, idempotencyKey }: NewPayment) => {
  const [row] = await books.sql`
    select e.state, e.outcome_source, e.attempt, p.status
    from journal_entries e join payments p on p.id = e.payment_id
    where e.merchant_id = ${merchantId} and e.idempotency_key = ${idempotencyKey}`;
  return row;
};
const written = (asked: NewPayment) => eventually(() => stateOf(asked), Boolean);
const takenBack = (asked: NewPayment, attempt = 1) =>
  eventually(
    () => stateOf(asked),
    (row) => row?.['outcome_source'] === 'NOT_SENT' && row['attempt'] === attempt,
  );

/** How long it took to be told that the journal is unavailable. */
async function refusedAfterMs(work: Promise<unknown>): Promise<number> {
  const [tookMs] = await Promise.all([
    fairMs(work),
    expect(work).rejects.toBeInstanceOf(JournalUnavailable),
  ]);
  return tookMs;
}

async function released(asked: NewPayment): Promise<Recorded> {
  const hold = holdOf(await books.journal().open(asked));
  const { moved, ...recorded } = await books.journal().settle(hold, NOT_SENT);
  expect(moved).toBe(true);
  return recorded;
}

describe('T1 whose reply is lost', () => {
  test('is run again and recognises its own row', () =>
    withFaultyWay(books, {}, async ({ proxy, journal }) => {
      const asked = newPayment();
      const before = proxy.accepted;
      await proxy.set('dropNextReply');
      const hold = holdOf(await journal.open(asked));
      expect(proxy.accepted).toBeGreaterThan(before);
      expect(hold.entry).toMatchObject({ state: 'SENDING', attempt: 1 });
      expect((await journal.settle(hold, { ...NOT_SENT })).moved).toBe(true);
    }));

  test('and whose connection stays silent: a new pool recognises the row', () =>
    withFaultyWay(books, { statementMs: 300 }, async ({ proxy, journal, suspicions }) => {
      const asked = newPayment();
      await proxy.set('swallowNextReply');
      expect((await journal.open(asked)).kind).toBe('opened');
      expect(new Set(suspicions)).toEqual(new Set(['a statement missed its deadline']));
    }));

  test('with the time-out of everybody else in its batch: each recognises their own', () =>
    withFaultyWay(books, {}, async ({ proxy, journal }) => {
      await proxy.set('dropNextReply');
      const opened = await Promise.all(
        Array.from({ length: 100 }, () => journal.open(newPayment())),
      );
      expect(opened.filter(({ kind }) => kind === 'opened')).toHaveLength(100);
    }));
});

describe('a database that does not answer', () => {
  test('is given up in time, and afterwards the key may be used', () =>
    withFaultyWay(books, QUICK, async ({ proxy, journal, suspicions }) => {
      const asked = newPayment();
      await proxy.set('stall');
      expect(await refusedAfterMs(journal.open(asked))).toBeLessThan(QUICK.openBudgetMs + 500);
      expect(suspicions.length).toBeGreaterThan(0);
      await proxy.set('pass');
      expect(await takenBack(asked)).toMatchObject({ state: 'FAILED', status: 'NOT_SENT' });
      const again = await journal.open(asked);
      expect(again).toMatchObject({ kind: 'exists', entry: { outcomeSource: 'NOT_SENT' } });
      expect(holdOf(await journal.reopen(again as typeof again & Recorded)).entry.attempt).toBe(2);
    }));

  test('after it has written the row: the row is taken back, since the caller was told so', () =>
    withFaultyWay(books, QUICK, async ({ proxy, journal }) => {
      const asked = newPayment({ transactionId: 'order-back' });
      await proxy.set('swallowNextReply');
      const refused = refusedAfterMs(journal.open(asked));
      await written(asked);
      await proxy.set('stall');
      expect(await refused).toBeLessThan(QUICK.openBudgetMs + 500);
      expect(await stateOf(asked)).toMatchObject({ state: 'SENDING' });
      await proxy.set('pass');
      await takenBack(asked);
      const other = { ...asked, idempotencyKey: 'the-reference-is-free' };
      expect((await journal.open(other)).kind).toBe('opened');
    }));

  test('until after the caller was told: a T1 that comes true late is taken back too', async () => {
    const journal = books.journal(QUICK, { statementMs: QUICK.statementMs });
    const asked = newPayment();
    await books.sql.begin(async (sql) => {
      await sql`lock table journal_entries in share row exclusive mode`;
      expect(await refusedAfterMs(journal.open(asked))).toBeLessThan(QUICK.openBudgetMs + 500);
      expect(await stateOf(asked)).toBeUndefined();
    });
    await takenBack(asked);
    // Whatever still waited for the lock has come and gone.
    await eventually(
      () => books.sql`select 1 from pg_locks where relation = 'journal_entries'::regclass
        and not granted`,
      (waiting) => waiting.length === 0,
    );
    expect(await stateOf(asked)).toMatchObject({ state: 'FAILED', outcome_source: 'NOT_SENT' });
  });

  test('while an entry is opened again: that is taken back as well', async () => {
    const asked = newPayment();
    const recorded = await released(asked);
    await withFaultyWay(books, QUICK, async ({ proxy, journal }) => {
      await proxy.set('swallowNextReply');
      const refused = refusedAfterMs(journal.reopen(recorded));
      await eventually(
        () => stateOf(asked),
        (row) => row?.['state'] === 'SENDING',
      );
      await proxy.set('stall');
      expect(await refused).toBeLessThan(2 * QUICK.openBudgetMs + 500);
      await proxy.set('pass');
      await takenBack(asked, 2);
    });
  });

  test('and never got the second T1: its place is taken, so it cannot come true late', async () => {
    const asked = newPayment();
    const recorded = await released(asked);
    await withFaultyWay(books, QUICK, async ({ proxy, journal }) => {
      await proxy.set('refuse');
      await refusedAfterMs(journal.reopen(recorded));
      await proxy.set('pass');
      await takenBack(asked, 2);
    });
  });

  test.each(['refuse', 'reset'] as const)('but %ss: the same, within the time', (mode) =>
    withFaultyWay(books, QUICK, async ({ proxy, journal }) => {
      await proxy.set(mode);
      const tookMs = await refusedAfterMs(journal.open(newPayment()));
      expect(tookMs).toBeLessThan(QUICK.openBudgetMs + 500);
      await proxy.set('pass');
      const opened = () => journal.open(newPayment()).catch(() => ({ kind: 'unavailable' }));
      await eventually(opened, ({ kind }) => kind === 'opened');
    }),
  );

  test('comes back within the time: nobody notices', () =>
    withFaultyWay(books, {}, async ({ proxy, journal }) => {
      await proxy.set('refuse');
      const opened = journal.open(newPayment());
      setTimeout(() => void proxy.set('pass'), 300);
      expect((await opened).kind).toBe('opened');
    }));

  test('and a burst of requests: all are told, none waits for the others to time out', () =>
    withFaultyWay(books, QUICK, async ({ proxy, journal }) => {
      await proxy.set('stall');
      const told = Promise.allSettled(
        Array.from({ length: 1_000 }, () => journal.open(newPayment())),
      );
      expect(await fairMs(told)).toBeLessThan(3_000);
      for (const one of await told) {
        expect(one).toMatchObject({ reason: { name: 'JournalUnavailable' } });
      }
      await proxy.set('pass');
    }));
});
