import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Hold, Journal, NewPayment, Recorded } from '../../../src/payments/index.ts';
import {
  type Books,
  DECLINED,
  NOT_SENT,
  newPayment,
  openBooks,
  REJECTED,
  succeeded,
  UNKNOWN,
} from '../../postgres/books.ts';
import { MemoryJournal } from './memory-journal.ts';
import { type Choose, chooseBySeed } from './scheduler.ts';

/** A journal under test, and what its books hold beside the entries. */
interface Bench {
  readonly journal: Journal;
  readonly makeDue: () => Promise<void>;
  /** For each key the number of posted legs, the states of its events, and what was kept aside. */
  readonly books: (payments: readonly NewPayment[]) => Promise<unknown>;
}

let real: Books;
beforeAll(async () => {
  real = await openBooks();
});
afterAll(() => real.close());

function onPostgres(): Bench {
  return {
    journal: real.journal(),
    makeDue: () => real.makeDue(),
    books: (payments) =>
      Promise.all(
        payments.map(async ({ merchantId, idempotencyKey }) => {
          const [entry] = await real.sql`select id from journal_entries
            where merchant_id = ${merchantId} and idempotency_key = ${idempotencyKey}`;
          const id = entry?.['id'] ?? null;
          const legs = await real.sql`select leg from postings where entry_id = ${id}`;
          const events = await real.sql`select type from outbox_events where entry_id = ${id}
            order by payment_version`;
          const kept = await real.sql`select state from psp_observations where entry_id = ${id}`;
          return {
            posted: legs.length / 2,
            events: events.map(({ type }) => `${type}`.split('.')[1]?.toUpperCase()),
            kept: kept.map(({ state }) => state).sort(),
          };
        }),
      ),
  };
}

function inMemory(): Bench {
  let nowMs = 0;
  const times = { leaseMs: 20_000, recoverAfterMs: 30_000, recoveryLeaseMs: 20_000 };
  const journal = new MemoryJournal({ ...times, now: () => nowMs });
  return {
    journal,
    makeDue: async () => {
      nowMs += 40_000_000;
    },
    books: async (payments) =>
      payments.map(({ merchantId, idempotencyKey }) => {
        const row = journal.rows.get(`${merchantId} ${idempotencyKey}`);
        const kept = journal.observations.filter(({ entryId }) => entryId === row?.entry.id);
        return {
          posted: row?.postings.length ?? 0,
          events: row?.events ?? [],
          kept: kept.map(({ state }) => state).sort(),
        };
      }),
  };
}

/** What of an entry both journals must agree on. */
const gist = ({ entry, payment }: Recorded) => ({
  key: entry.idempotencyKey,
  state: entry.state,
  source: entry.outcomeSource,
  attempt: entry.attempt,
  declineCode: entry.declineCode,
  reason: entry.reason,
  settled: entry.settledAt !== null,
  status: payment.status,
  leased: entry.leaseLeftMs > 0,
});

/** Twenty steps, chosen in the same way whatever the journal answers. */
async function story(choose: Choose, bench: Bench, payments: readonly NewPayment[]) {
  const { journal } = bench;
  const pick = <T>(all: readonly T[]): T => all[choose(all.length)] as T;
  const holds: Hold[] = [];
  const said: unknown[] = [];
  for (let step = 0; step < 20; step += 1) {
    const way = choose(8);
    if (way <= 1 || holds.length === 0) {
      const opened = await journal.open(pick(payments));
      if (opened.kind === 'transaction-id-taken') throw new Error('no such thing was asked');
      if (opened.kind === 'opened') holds.push(opened.hold);
      said.push(opened.kind === 'exists' ? { exists: gist(opened) } : opened.kind);
    } else if (way <= 4) {
      const held = pick(holds);
      // The PSP's reference of an entry is its own: it does not stand in another's way.
      const paid = succeeded(`ch-${held.entry.id}`);
      const settled = await journal.settle(
        held,
        pick([paid, DECLINED, REJECTED, UNKNOWN, NOT_SENT]),
      );
      const { leased: _, ...rest } = gist(settled);
      said.push({ ...rest, moved: settled.moved });
    } else if (way === 5) {
      const opened = await journal.reopen(pick(holds));
      if (opened.kind === 'transaction-id-taken') throw new Error('no such thing was asked');
      if (opened.kind === 'opened') holds.push(opened.hold);
      said.push(opened.kind === 'exists' ? { stays: gist(opened) } : opened.kind);
    } else {
      await bench.makeDue();
      const doubts = [...(await journal.takeOver(10, payments[0]?.psp ?? ''))];
      doubts.sort((one, other) => (one.entry.idempotencyKey < other.entry.idempotencyKey ? -1 : 1));
      holds.push(...doubts);
      said.push(doubts.map((doubt) => ({ ...gist(doubt), checks: doubt.checks })));
    }
  }
  return { said, books: await bench.books(payments) };
}

test.each(Array.from({ length: 40 }, (_, index) => index + 1))(
  'the model of the journal does as Postgres does: story %i',
  async (seed) => {
    const psp = `fake-${randomUUID()}`;
    const merchantId = randomUUID();
    const payments = ['a', 'b', 'c'].map((idempotencyKey) =>
      newPayment({ psp, merchantId, idempotencyKey }),
    );
    const modelled = await story(chooseBySeed(seed), inMemory(), payments);
    expect(modelled).toEqual(await story(chooseBySeed(seed), onPostgres(), payments));
  },
);
