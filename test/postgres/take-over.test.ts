import { randomUUID } from 'node:crypto';
import { version } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Hold } from '../../src/payments/index.ts';
import { PostgresFollowUps, type PostgresJournal } from '../../src/postgres/index.ts';
import {
  type Books,
  DECLINED,
  holdOf,
  newPayment,
  openBooks,
  succeeded,
  TIMES,
  UNKNOWN,
} from './books.ts';

let books: Books;
let journal: PostgresJournal;
beforeAll(async () => {
  books = await openBooks();
  journal = books.journal();
});
afterAll(() => books.close());

/** Entries of a PSP that no other test asks about. */
async function sent(count: number) {
  const psp = `fake-${randomUUID()}`;
  const holds = await Promise.all(
    Array.from({ length: count }, async () => holdOf(await journal.open(newPayment({ psp })))),
  );
  return { psp, holds, hold: holds[0] as Hold };
}

const idsOf = (holds: readonly Hold[]) => holds.map(({ entry }) => entry.id);

describe('what is taken over', () => {
  test('is what is due and nothing else', async () => {
    const { psp, holds, hold } = await sent(6);
    expect(await journal.takeOver(100, psp)).toEqual([]);
    const [succeededOne, declinedOne, unknownOne, pendingOne, reviewedOne] = holds as Hold[];
    await journal.settle(succeededOne as Hold, succeeded());
    await journal.settle(declinedOne as Hold, DECLINED);
    await journal.settle(unknownOne as Hold, UNKNOWN);
    await journal.settle(pendingOne as Hold, { ...UNKNOWN, state: 'PENDING' });
    const doubtful = await journal.settle(reviewedOne as Hold, UNKNOWN);
    await journal.settle(
      { ...(reviewedOne as Hold), ...doubtful },
      {
        ...UNKNOWN,
        state: 'IN_REVIEW',
        nextCheckMs: null,
      },
    );
    expect(await journal.takeOver(100, psp)).toEqual([]);
    await books.makeDue();
    const doubts = await journal.takeOver(100, psp);
    expect(idsOf(doubts).sort()).toEqual(
      [unknownOne, pendingOne, holds[5]].map((one) => one?.entry.id).sort(),
    );
    expect(hold.entry.id).toBe(succeededOne?.entry.id);
  });

  test('has the next attempt, a new owner and a lease; a send becomes unknown', async () => {
    const { psp, hold } = await sent(1);
    await books.makeDue();
    const [doubt] = await journal.takeOver(100, psp);
    expect(doubt).toMatchObject({
      entry: { id: hold.entry.id, state: 'UNKNOWN', attempt: 2 },
      payment: { id: hold.payment.id, status: 'UNKNOWN' },
      checks: 0,
    });
    expect(doubt?.ownerToken).not.toBe(hold.ownerToken);
    expect(doubt?.entry.leaseLeftMs).toBeGreaterThan(15_000);
    expect(doubt?.entry.pspIdempotencyKey).toBe(hold.entry.pspIdempotencyKey);
    const [row] =
      await books.sql`select status, version from payments where id = ${hold.payment.id}`;
    expect(row).toEqual({ status: 'UNKNOWN', version: 2 });
    const events = await books.sql`
      select id, type, payment_version from outbox_events where entry_id = ${hold.entry.id}`;
    expect([...events]).toMatchObject([{ type: 'charge.unknown', payment_version: 2 }]);
    const id = events[0]?.['id'] as string;
    expect(version(id)).toBe(7);
    const madeAt = Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);
    expect(Math.abs(madeAt - Date.now())).toBeLessThan(60_000);
  });

  test('again counts its checks, is no new event, and knows its age', async () => {
    const { psp, hold } = await sent(1);
    for (const checks of [0, 1, 2]) {
      await books.makeDue();
      const [doubt] = await journal.takeOver(100, psp);
      expect(doubt).toMatchObject({ checks, entry: { attempt: checks + 2 } });
    }
    await books.makeDue();
    await books.sql`
      update journal_entries set sent_at = sent_at - interval '1000 days'
      where id = ${hold.entry.id}`;
    const [doubt] = await journal.takeOver(100, psp);
    expect(doubt?.ageMs).toBeGreaterThanOrEqual(86_400_000_000);
    const events = await books.sql`select 1 from outbox_events where entry_id = ${hold.entry.id}`;
    expect(events).toHaveLength(1);
  });

  test('was pending stays pending', async () => {
    const { psp, hold } = await sent(1);
    await journal.settle(hold, { ...UNKNOWN, state: 'PENDING', pspReference: 'ch_p' });
    await books.makeDue();
    expect(await journal.takeOver(100, psp)).toMatchObject([
      { entry: { state: 'PENDING', pspReference: 'ch_p' }, payment: { status: 'PROCESSING' } },
    ]);
  });

  test('was sent by this PSP: another one knows nothing of it', async () => {
    const { psp, holds } = await sent(2);
    await books.makeDue();
    expect(await journal.takeOver(100, 'another')).toEqual([]);
    expect(await journal.takeOver(100, psp)).toHaveLength(holds.length);
  });

  test('is not due again before the recoverer’s lease ends', async () => {
    const { psp } = await sent(1);
    await books.makeDue();
    expect(await journal.takeOver(100, psp)).toHaveLength(1);
    expect(await journal.takeOver(100, psp)).toHaveLength(0);
  });

  test('is never more than asked for, the longest due first', async () => {
    const { psp, holds } = await sent(5);
    for (const [turn, { entry }] of holds.entries()) {
      await books.sql`
        update journal_entries
        set next_check_at = clock_timestamp() - ${turn + 1} * interval '1 minute'
        where id = ${entry.id}`;
    }
    const longest = idsOf(holds).toReversed();
    expect(idsOf(await journal.takeOver(2, psp)).sort()).toEqual(longest.slice(0, 2).sort());
    expect(await journal.takeOver(2, psp)).toHaveLength(2);
    expect(await journal.takeOver(2, psp)).toHaveLength(1);
  });
});

describe('two recoverers at once', () => {
  test('never get the same entry, and between them get all', async () => {
    const { psp, holds } = await sent(300);
    await books.makeDue();
    const pair = [journal, books.journal()];
    const taken = await Promise.all(
      Array.from({ length: 12 }, (_, turn) => pair[turn % 2]?.takeOver(25, psp) ?? []),
    );
    const rest = await journal.takeOver(1_000, psp);
    const ids = idsOf([...taken.flat(), ...rest]);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBe(holds.length);
  });

  test('do not wait for one that is being settled', async () => {
    const { psp, holds, hold } = await sent(2);
    await books.makeDue();
    await books.sql.begin(async (sql) => {
      await sql`select 1 from journal_entries where id = ${hold.entry.id} for update`;
      expect(idsOf(await journal.takeOver(100, psp))).toEqual(idsOf(holds.slice(1)));
    });
    expect(idsOf(await journal.takeOver(100, psp))).toEqual([hold.entry.id]);
  });

  test('and the owners settle overlapping entries: each ends once, nobody hangs', async () => {
    const { psp, holds } = await sent(100);
    await books.makeDue();
    const other = books.journal();
    const owners = Promise.all(holds.map((hold) => journal.settle(hold, succeeded())));
    const recoverers = Promise.all([other.takeOver(60, psp), journal.takeOver(60, psp)]).then(
      (taken) => Promise.all(taken.flat().map((doubt) => other.settle(doubt, DECLINED))),
    );
    const settled = (await Promise.all([owners, recoverers])).flat();
    const moved = settled.filter((one) => one.moved);
    expect(new Set(moved.map(({ entry }) => entry.id)).size).toBe(100);
    expect(moved).toHaveLength(100);
    const [row] = await books.sql`
      select count(*) filter (where e.state = 'SUCCEEDED')::int as succeeded,
        (select count(*)::int from postings p where p.entry_id in
          (select id from journal_entries where psp = ${psp})) as legs
      from journal_entries e where psp = ${psp}`;
    expect(row?.['legs']).toBe(2 * row?.['succeeded']);
  });

  test('leave the one who was superseded without a say; the later settles', async () => {
    const { psp } = await sent(1);
    await books.makeDue();
    const [earlier] = await journal.takeOver(1, psp);
    await books.makeDue();
    const [later] = await books.journal().takeOver(1, psp);
    expect(later?.entry.attempt).toBe(3);
    expect(await journal.settle(earlier as Hold, succeeded('ch_earlier'))).toMatchObject({
      moved: false,
      entry: { state: 'UNKNOWN', attempt: 3 },
    });
    const kept = await books.sql`
      select attempt, psp_reference from psp_observations where entry_id = ${later?.entry.id ?? ''}`;
    expect([...kept]).toEqual([{ attempt: 2, psp_reference: 'ch_earlier' }]);
    expect(await journal.settle(later as Hold, succeeded('ch_earlier'))).toMatchObject({
      moved: true,
      entry: { state: 'SUCCEEDED' },
    });
  });
});

test('several entries of one payment: an event for each that moved, each with a version of its own', async () => {
  const psp = `fake-${randomUUID()}`;
  const charge = holdOf(await journal.open(newPayment({ psp })));
  const { payment } = await journal.settle(charge, succeeded());
  const followUps = new PostgresFollowUps(books.database(), TIMES);
  const refund = async (idempotencyKey: string) => {
    const { merchantId, id: paymentId } = payment;
    const { fingerprint } = newPayment();
    const asked = { merchantId, paymentId, idempotencyKey, fingerprint, psp, amountMinor: 1 };
    const more = { operation: 'REFUND', currency: null, expectedVersion: null } as const;
    const opened = await followUps.open({ ...asked, ...more, request: {} });
    if (opened.kind !== 'opened') throw new Error(opened.kind);
    return opened.hold;
  };
  await journal.settle(await refund('in-doubt-before'), UNKNOWN);
  await refund('sent');
  await refund('sent-too');
  await books.makeDue();
  const before = await books.sql`select id from outbox_events where payment_id = ${payment.id}`;
  expect(await journal.takeOver(100, psp)).toHaveLength(3);
  const events = await books.sql`
    select e.type, e.payment_version, p.version from outbox_events e
    join payments p on p.id = e.payment_id
    where e.payment_id = ${payment.id} and not (e.id = any(${before.map(({ id }) => id)}::uuid[]))
    order by e.payment_version`;
  const version = events[0]?.['version'] as number;
  expect(events.map((event) => [event['type'], event['payment_version']])).toEqual([
    ['refund.unknown', version - 1],
    ['refund.unknown', version],
  ]);
});
