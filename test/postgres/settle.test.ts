import { randomUUID } from 'node:crypto';
import { version } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Conclusion, Hold, Settled } from '../../src/payments/index.ts';
import type { PostgresJournal } from '../../src/postgres/index.ts';
import {
  type Books,
  DECLINED,
  holdOf,
  NOT_SENT,
  newPayment,
  openBooks,
  REJECTED,
  succeeded,
  UNKNOWN,
} from './books.ts';

let books: Books;
let journal: PostgresJournal;
beforeAll(async () => {
  books = await openBooks();
  journal = books.journal();
});
afterAll(() => books.close());

const open = async (more = {}) => holdOf(await journal.open(newPayment(more)));
const postingsOf = ({ entry }: Hold) => books.sql`
  select leg, account, direction, amount_minor::int, currency from postings
  where entry_id = ${entry.id} order by leg`;
const eventsOf = ({ entry }: Hold) => books.sql`
  select id, type, payment_id, payment_version from outbox_events
  where entry_id = ${entry.id} order by payment_version`;
const observationsOf = ({ entry }: Hold) => books.sql`
  select state, outcome_source, psp_reference, attempt from psp_observations
  where entry_id = ${entry.id} order by created_at`;
const rowOf = async ({ entry }: Hold) => {
  const [row] = await books.sql`
    select e.state, e.attempt, e.outcome_source, e.psp_reference, e.decline_code, e.settled_at,
      e.next_check_at, p.status, p.version, p.captured_minor::int, p.authorized_minor::int
    from journal_entries e join payments p on p.id = e.payment_id where e.id = ${entry.id}`;
  return row;
};

describe('a success', () => {
  test('is the outcome, two postings that sum to zero and one event, in one commit', async () => {
    const hold = await open();
    const settled = await journal.settle(hold, succeeded('ch_1'));
    expect(settled).toMatchObject({
      moved: true,
      entry: { state: 'SUCCEEDED', outcomeSource: 'SYNC', pspReference: 'ch_1' },
      payment: { status: 'CAPTURED', version: 2, capturedMinor: 1_050, authorizedMinor: 1_050 },
    });
    expect(settled.entry.settledAt).toBeInstanceOf(Date);
    expect(await rowOf(hold)).toMatchObject({
      state: 'SUCCEEDED',
      psp_reference: 'ch_1',
      status: 'CAPTURED',
      version: 2,
      captured_minor: 1_050,
      authorized_minor: 1_050,
      next_check_at: null,
    });
    expect([...(await postingsOf(hold))]).toEqual([
      {
        leg: 1,
        account: 'psp_clearing',
        direction: 'DEBIT',
        amount_minor: 1_050,
        currency: 'EUR',
      },
      {
        leg: 2,
        account: 'merchant_payable',
        direction: 'CREDIT',
        amount_minor: 1_050,
        currency: 'EUR',
      },
    ]);
    const events = await eventsOf(hold);
    expect([...events]).toMatchObject([
      { type: 'charge.succeeded', payment_id: hold.payment.id, payment_version: 2 },
    ]);
    expect(version(events[0]?.['id'])).toBe(7);
    expect(await observationsOf(hold)).toHaveLength(0);
  });

  test('reads the same afterwards as it was answered', async () => {
    const asked = newPayment({ metadata: { b: 1, a: 'x' }, description: 'd', transactionId: 't' });
    const { moved: _, ...settled } = await journal.settle(
      holdOf(await journal.open(asked)),
      succeeded(),
    );
    const { kind, ...again } = await journal.open(asked);
    expect(kind).toBe('exists');
    expect(again).toMatchObject(settled);
  });

  test('of two hundred at once keeps each one’s own outcome', async () => {
    const holds = await Promise.all(
      Array.from({ length: 200 }, async () => holdOf(await journal.open(newPayment()))),
    );
    const settled = await Promise.all(
      holds.map((hold, turn) =>
        journal.settle(hold, turn % 2 === 0 ? succeeded(`ch_many_${turn}`) : DECLINED),
      ),
    );
    for (const [turn, { entry, moved }] of settled.entries()) {
      expect(moved).toBe(true);
      expect(entry.id).toBe(holds[turn]?.entry.id);
      expect(entry.state).toBe(turn % 2 === 0 ? 'SUCCEEDED' : 'DECLINED');
    }
  });
});

describe('what is not a success', () => {
  test.each<[string, Conclusion, object, string[]]>([
    [
      'a decline',
      DECLINED,
      { state: 'DECLINED', status: 'DECLINED', decline_code: 'insufficient_funds', version: 2 },
      ['charge.declined'],
    ],
    ['a rejection', REJECTED, { state: 'FAILED', status: 'FAILED', version: 2 }, ['charge.failed']],
    [
      'an unknown outcome',
      UNKNOWN,
      { state: 'UNKNOWN', status: 'UNKNOWN', settled_at: null, version: 2 },
      ['charge.unknown'],
    ],
    [
      'a pending one',
      { ...UNKNOWN, state: 'PENDING', pspReference: 'ch_later' },
      { state: 'PENDING', status: 'PROCESSING', psp_reference: 'ch_later', settled_at: null },
      ['charge.pending'],
    ],
    [
      'one that was not sent, which nobody is told of',
      NOT_SENT,
      { state: 'FAILED', outcome_source: 'NOT_SENT', status: 'NOT_SENT' },
      [],
    ],
  ])('%s books nothing', async (_, conclusion, row, events) => {
    const hold = await open();
    expect((await journal.settle(hold, conclusion)).moved).toBe(true);
    expect(await rowOf(hold)).toMatchObject({ ...row, captured_minor: 0 });
    expect(await postingsOf(hold)).toHaveLength(0);
    expect((await eventsOf(hold)).map((event) => event['type'])).toEqual(events);
  });

  test('an unknown outcome is due again after its pause', async () => {
    const hold = await open();
    const { entry } = await journal.settle(hold, UNKNOWN);
    const [row] = await books.sql`
      select extract(epoch from next_check_at - clock_timestamp())::float8 as s,
        lease_until <= clock_timestamp() as ended
      from journal_entries where id = ${entry.id}`;
    expect(row?.['s']).toBeGreaterThan(0.5);
    expect(row?.['s']).toBeLessThanOrEqual(2);
    expect(row?.['ended']).toBe(true);
  });
});

describe('who no longer owns an entry', () => {
  test('moves nothing, and what they know is kept', async () => {
    const hold = await open();
    await books.makeDue();
    await journal.takeOver(100, 'fake');
    const late = await journal.settle(hold, succeeded('ch_late'));
    expect(late).toMatchObject({ moved: false, entry: { state: 'UNKNOWN', attempt: 2 } });
    expect(await postingsOf(hold)).toHaveLength(0);
    expect([...(await observationsOf(hold))]).toEqual([
      { state: 'SUCCEEDED', outcome_source: 'SYNC', psp_reference: 'ch_late', attempt: 1 },
    ]);
  });

  test.each([
    ['the token of somebody else', { ownerToken: randomUUID() }],
    ['an attempt that is not the present one', { entry: { attempt: 2 } }],
    ['a state that it is not in', { entry: { state: 'UNKNOWN' as const } }],
    ['another merchant', { entry: { merchantId: randomUUID() } }],
  ])('with %s', async (_, { ownerToken, entry }: { ownerToken?: string; entry?: object }) => {
    const hold = await open();
    const wrong = {
      ...hold,
      ownerToken: ownerToken ?? hold.ownerToken,
      entry: { ...hold.entry, ...entry },
    };
    const told = journal.settle(wrong, succeeded());
    const moved = await told.then((settled) => settled.moved).catch(() => false);
    expect(moved).toBe(false);
    expect(await rowOf(hold)).toMatchObject({ state: 'SENDING', version: 1 });
    expect(await postingsOf(hold)).toHaveLength(0);
  });

  test('cannot change an outcome that is final', async () => {
    const hold = await open();
    await journal.settle(hold, DECLINED);
    const again = await journal.settle(hold, succeeded('ch_after_decline'));
    expect(again).toMatchObject({ moved: false, entry: { state: 'DECLINED' } });
    expect(await rowOf(hold)).toMatchObject({ state: 'DECLINED', status: 'DECLINED' });
    expect([...(await observationsOf(hold))]).toMatchObject([{ state: 'SUCCEEDED' }]);
  });

  test('and two who think they do: one set of postings, one event, one is told', async () => {
    const hold = await open();
    const pair = [journal, books.journal()];
    const settled = (await Promise.all(
      Array.from({ length: 10 }, (_, turn) => pair[turn % 2]?.settle(hold, succeeded('ch_same'))),
    )) as Settled[];
    expect(settled.every(({ entry }) => entry.state === 'SUCCEEDED')).toBe(true);
    expect(await postingsOf(hold)).toHaveLength(2);
    expect(await eventsOf(hold)).toHaveLength(1);
  });

  test('or say different things in one batch: what is answered is what is written', async () => {
    const hold = await open();
    const [one, two] = await Promise.all([
      journal.settle(hold, succeeded('ch_or')),
      journal.settle(hold, DECLINED),
    ]);
    const row = await rowOf(hold);
    expect(one.entry.state).toBe(row?.['state']);
    expect(two.entry.state).toBe(row?.['state']);
    expect([one.moved, two.moved].filter(Boolean)).toHaveLength(1);
    expect(await observationsOf(hold)).toHaveLength(1);
  });
});
