import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import {
  createPayment,
  type Found,
  type Hold,
  JournalUnavailable,
  type Outcome,
  type Psp,
  recoverOnce,
} from '../../src/payments/index.ts';
import { chargesOnly } from '../support/charges-only.ts';
import { eventually } from '../support/pay.ts';
import { type Books, holdOf, newPayment, openBooks, succeeded } from './books.ts';
import { fairMs } from './fair-time.ts';
import { withFaultyWay } from './faulty-way.ts';

let books: Books;
beforeAll(async () => {
  books = await openBooks();
});
afterAll(() => books.close());

const postingsOf = ({ entry }: Pick<Hold, 'entry'>) => books.sql`
  select sum(case direction when 'DEBIT' then amount_minor else -amount_minor end)::int as sum,
    count(*)::int as legs from postings where entry_id = ${entry.id}`;
const countOf = async (table: string, { entry }: Hold) => {
  const rows = await books.sql`select 1 from ${books.sql(table)} where entry_id = ${entry.id}`;
  return rows.length;
};

describe('T2 whose reply is lost', () => {
  test.each(['dropNextReply', 'swallowNextReply'] as const)(
    'is run again and finds its own commit (%s)',
    (mode) =>
      withFaultyWay(books, { statementMs: 300 }, async ({ proxy, journal }) => {
        const hold = holdOf(await journal.open(newPayment()));
        await proxy.set(mode);
        const settled = await journal.settle(hold, succeeded());
        expect(settled).toMatchObject({ moved: true, entry: { state: 'SUCCEEDED' } });
        expect([...(await postingsOf(hold))]).toEqual([{ sum: 0, legs: 2 }]);
        expect(await countOf('outbox_events', hold)).toBe(1);
        expect(await countOf('psp_observations', hold)).toBe(0);
      }),
  );

  test('by one who was superseded: the evidence is kept once, and nothing moves', () =>
    withFaultyWay(books, {}, async ({ proxy, journal }) => {
      const hold = holdOf(await journal.open(newPayment()));
      await books.makeDue();
      await books.journal().takeOver(1_000, 'fake');
      await proxy.set('dropNextReply');
      const settled = await journal.settle(hold, succeeded());
      expect(settled).toMatchObject({ moved: false, entry: { state: 'UNKNOWN', attempt: 2 } });
      expect(await countOf('psp_observations', hold)).toBe(1);
    }));

  test('and cannot be run again in time: unavailable, and the outcome stands', () =>
    withFaultyWay(
      books,
      { statementMs: 300, settleBudgetMs: 800 },
      async ({ proxy, journal, suspicions }) => {
        const hold = holdOf(await journal.open(newPayment()));
        await proxy.set('swallowNextReply');
        const told = journal.settle(hold, succeeded()).catch((error: unknown) => error);
        const tookMs = fairMs(told);
        await eventually(
          () => postingsOf(hold),
          ([row]) => row?.['legs'] === 2,
        );
        await proxy.set('stall');
        expect(await told).toBeInstanceOf(JournalUnavailable);
        expect(await tookMs).toBeLessThan(1_300);
        expect(suspicions.length).toBeGreaterThan(0);
        expect([...(await postingsOf(hold))]).toEqual([{ sum: 0, legs: 2 }]);
      },
    ));
});

/** Counts what it is asked; its books say what it answered. Nobody else's entries are its own. */
function fakePsp(): Psp & { charges: number } {
  const outcomes = new Map<string, Outcome>();
  return {
    ...chargesOnly,
    name: `fake-${randomUUID()}`,
    keyWindowMs: 86_400_000,
    settlingMs: 0,
    askAgainMs: 60_000,
    charges: 0,
    async charge({ reference, amountMinor, currency }) {
      this.charges += 1;
      const pspReference = `ch_${reference}`;
      const outcome: Outcome = { kind: 'succeeded', pspReference, amountMinor, currency };
      outcomes.set(reference, outcome);
      return outcome;
    },
    async find(reference): Promise<Found> {
      const outcome = outcomes.get(reference);
      return outcome === undefined ? { kind: 'none' } : { kind: 'found', outcome };
    },
  };
}

describe('a database that fails in T2', () => {
  beforeEach(async () => {
    await books.sql.unsafe(`
      create sequence faults;
      create function fail() returns trigger language plpgsql as $$
      begin
        if nextval('faults') <= tg_argv[1]::int then
          raise exception 'a fault' using errcode = tg_argv[0];
        end if;
        return new;
      end $$`);
  });
  afterEach(() =>
    books.sql.unsafe('drop function if exists fail() cascade; drop sequence if exists faults'),
  );
  const failWith = (code: string, times: number) =>
    books.sql.unsafe(`
      create trigger fails before insert on postings
      for each row execute function fail('${code}', '${times}')`);

  const pay = (psp: Psp, errors: unknown[], command = newPayment({ psp: psp.name })) =>
    createPayment(
      {
        journal: books.journal(),
        psp,
        now: () => performance.now(),
        leaseMs: 20_000,
        pspTimeoutMs: 5_000,
        onUnrecorded: (error) => errors.push(error),
      },
      command,
    );

  test.each([
    ['could not serialise', '40001'],
    ['found a deadlock', '40P01'],
  ])('twice since it %s: only the writing is repeated', async (_, code) => {
    await failWith(code, 2);
    const psp = fakePsp();
    const errors: unknown[] = [];
    const ended = await pay(psp, errors);
    expect(ended).toMatchObject({ kind: 'done', answer: { decision: { kind: 'succeeded' } } });
    expect(psp.charges).toBe(1);
    expect(errors).toEqual([]);
    const [faults] = await books.sql`select last_value::int as tried from faults`;
    expect(faults?.['tried']).toBeGreaterThan(2);
  });

  test('by a check that forbids it: in doubt, never failed; recovery writes it', async () => {
    await failWith('23514', 1);
    const psp = fakePsp();
    const errors: unknown[] = [];
    const command = newPayment({ psp: psp.name });
    const ended = await pay(psp, errors, command);
    expect(ended).toMatchObject({ kind: 'open', answer: { decision: { kind: 'unknown' } } });
    expect(errors).toMatchObject([{ code: '23514' }]);
    await books.makeDue();
    const journal = books.journal();
    await recoverOnce({ journal, psp }, 1_000);
    const again = await journal.open(command);
    expect(again).toMatchObject({
      kind: 'exists',
      entry: { state: 'SUCCEEDED', outcomeSource: 'INQUIRY' },
    });
    expect(psp.charges).toBe(1);
    expect([...(await postingsOf(again as unknown as Hold))]).toEqual([{ sum: 0, legs: 2 }]);
  });

  test('for one of a batch: its neighbours are written', async () => {
    const journal = books.journal();
    const holds = await Promise.all(
      Array.from({ length: 8 }, async () => holdOf(await journal.open(newPayment()))),
    );
    const bad = holds[3] as Hold;
    await books.sql.unsafe(`
      create trigger fails before insert on postings for each row
      when (new.entry_id = '${bad.entry.id}') execute function fail('23514', '1000')`);
    const settled = await Promise.allSettled(
      holds.map((hold) => journal.settle(hold, succeeded())),
    );
    expect(settled.map(({ status }) => status)).toEqual(
      holds.map((hold) => (hold === bad ? 'rejected' : 'fulfilled')),
    );
  });
});
