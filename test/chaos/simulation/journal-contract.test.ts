import { createHash, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type {
  CancelJournal,
  Conclusion,
  FollowUp,
  FollowUpJournal,
  FollowUpOpened,
  Hold,
  Inbox,
  Journal,
  JournalEntry,
  Letter,
  NewPayment,
  Payment,
  Recorded,
  Reversals,
} from '../../../src/payments/index.ts';
import { hearEvent } from '../../../src/payments/index.ts';
import {
  PostgresCancels,
  PostgresFollowUps,
  PostgresInbox,
  PostgresReversals,
} from '../../../src/postgres/index.ts';
import {
  type Books,
  DECLINED,
  NOT_SENT,
  newPayment,
  openBooks,
  REJECTED,
  succeeded,
  TIMES,
  UNKNOWN,
} from '../../postgres/books.ts';
import { MemoryFollowUps } from './memory-follow-ups.ts';
import { MemoryJournal } from './memory-journal.ts';
import { type Choose, chooseBySeed } from './scheduler.ts';

/** A journal under test, and what its books hold beside the entries. */
interface Bench {
  readonly journal: Journal;
  readonly followUps: Pick<FollowUpJournal, 'open' | 'reopen'>;
  readonly cancels: CancelJournal;
  readonly inbox: Inbox;
  readonly reversals: Reversals;
  readonly makeDue: () => Promise<void>;
  /** For each entry the posted sets, the states of its events, and what was kept aside. */
  readonly books: (merchantId: string) => Promise<unknown>;
}

interface Kept {
  readonly key: string;
  readonly posted: number;
  readonly events: readonly string[];
  readonly kept: readonly string[];
}

const STORIES = 60;
const STEPS = 30;

let real: Books;
beforeAll(async () => {
  real = await openBooks();
});
afterAll(() => real.close());

const sorted = (all: readonly Kept[]) => [...all].sort((one, two) => (one.key < two.key ? -1 : 1));

function onPostgres(): Bench {
  const database = real.database();
  return {
    journal: real.journal(),
    followUps: new PostgresFollowUps(database, TIMES),
    cancels: new PostgresCancels(database, 5_000),
    inbox: new PostgresInbox(database, 5_000),
    reversals: new PostgresReversals(database, TIMES),
    makeDue: () => real.makeDue(),
    books: async (merchantId) => {
      const rows = await real.sql`
        select e.idempotency_key as key,
          (select count(*)::int / 2 from postings p where p.entry_id = e.id) as posted,
          array(select split_part(type, '.', 2) from outbox_events o where o.entry_id = e.id
            order by payment_version) as events,
          array(select state from psp_observations o where o.entry_id = e.id order by state) as kept
        from journal_entries e where merchant_id = ${merchantId}`;
      const kept = rows as unknown as readonly Kept[];
      return sorted(
        kept.map((row) => ({ ...row, events: row.events.map((one) => one.toUpperCase()) })),
      );
    },
  };
}

function inMemory(): Bench {
  let nowMs = 0;
  const times = { leaseMs: 20_000, recoverAfterMs: 30_000, recoveryLeaseMs: 20_000 };
  const journal = new MemoryJournal({ ...times, now: () => nowMs });
  const more = new MemoryFollowUps(journal);
  return {
    journal,
    followUps: more,
    cancels: more,
    inbox: more,
    reversals: { open: (limit, psp) => more.openReversals(limit, psp) },
    makeDue: async () => {
      nowMs += 40_000_000;
    },
    books: async () =>
      sorted(
        [...journal.rows.values()].map(({ entry, postings, events }) => ({
          key: entry.idempotencyKey,
          posted: postings.length,
          events,
          kept: journal.observations
            .filter(({ entryId }) => entryId === entry.id)
            .map(({ state }) => state)
            .sort(),
        })),
      ),
  };
}

/** What of an entry and its payment both journals must agree on. */
const gist = ({ entry, payment }: Recorded) => ({
  key: entry.idempotencyKey,
  operation: entry.operation,
  state: entry.state,
  source: entry.outcomeSource,
  attempt: entry.attempt,
  amount: entry.amountMinor,
  declineCode: entry.declineCode,
  reason: entry.reason,
  settled: entry.settledAt !== null,
  leased: entry.leaseLeftMs > 0,
  ...sumsOf(payment),
});

const sumsOf = (payment: Payment) => ({
  status: payment.status,
  version: payment.version,
  authorized: payment.authorizedMinor,
  captured: payment.capturedMinor,
  captures: payment.captureReservedMinor,
  refunded: payment.refundedMinor,
  refunds: payment.refundReservedMinor,
  voids: payment.voidReserved,
});

const WAITS = { reason: null, nextActionUrl: 'https://psp.invalid/' };
const PENDING: Conclusion = { ...UNKNOWN, ...WAITS, state: 'PENDING' };
const FINGERPRINT = { version: 1, digest: createHash('sha256').update('other').digest() };
/** The PSP's reference of an entry is its own: it does not stand in another's way. */
const referenceOf = ({ idempotencyKey }: JournalEntry) => `ref-of-${idempotencyKey}`;

/** One telling of a story: what was done, chosen in the same way whatever the journal answers. */
class Story {
  readonly said: unknown[] = [];
  readonly #choose: Choose;
  readonly #bench: Bench;
  readonly #payments: readonly NewPayment[];
  readonly #holds: Hold[] = [];
  #made = 0;

  constructor(choose: Choose, bench: Bench, payments: readonly NewPayment[]) {
    this.#choose = choose;
    this.#bench = bench;
    this.#payments = payments;
  }

  async step(): Promise<void> {
    const way = this.#choose(14);
    if (way <= 1 || this.#holds.length === 0) return this.#open();
    if (way <= 5) return this.#settle();
    if (way === 6) return this.#reopen();
    if (way === 7) return this.#takeOver();
    if (way <= 10) return this.#followUp();
    if (way === 11) return this.#cancel();
    return way === 12 ? this.#hear() : this.#reverse();
  }

  #pick<T>(all: readonly T[]): T {
    return all[this.#choose(all.length)] as T;
  }

  async #open(): Promise<void> {
    const opened = await this.#bench.journal.open(this.#pick(this.#payments));
    if (opened.kind === 'transaction-id-taken') throw new Error('no such thing was asked');
    if (opened.kind === 'opened') this.#holds.push(opened.hold);
    this.said.push(opened.kind === 'exists' ? { exists: gist(opened) } : opened.kind);
  }

  async #settle(): Promise<void> {
    const held = this.#pick(this.#holds);
    const paid = succeeded(referenceOf(held.entry));
    // What the PSP has in hand never becomes unknown again, and what was unknown not pending.
    const less = held.entry.state === 'PENDING' ? PENDING : UNKNOWN;
    const waits = held.entry.state === 'UNKNOWN' ? { ...UNKNOWN, ...WAITS } : PENDING;
    const told = this.#pick([paid, paid, DECLINED, REJECTED, less, NOT_SENT, waits]);
    const settled = await this.#bench.journal.settle(held, told);
    const { leased: _, ...rest } = gist(settled);
    this.said.push({ ...rest, moved: settled.moved });
  }

  async #reopen(): Promise<void> {
    const held = this.#pick(this.#holds);
    const { operation } = held.entry;
    if (operation === 'REVERSE') return;
    const first = operation === 'CHARGE' || operation === 'AUTHORIZE';
    const { journal } = this.#bench;
    const opened = await (first ? journal.reopen(held) : this.#again(held.entry));
    if (opened.kind === 'opened') this.#holds.push(opened.hold);
    this.said.push(opened.kind === 'exists' ? { stays: gist(opened) } : { ...opened, hold: null });
  }

  /** A follow-up's second request: opened again only if the first one was provably not sent. */
  async #again(entry: JournalEntry): Promise<FollowUpOpened> {
    const { followUps } = this.#bench;
    const fingerprint = FINGERPRINT;
    const operation = entry.operation as FollowUp['operation'];
    const asked = { ...entry, operation, fingerprint, expectedVersion: null, request: {} };
    const found = await followUps.open(asked);
    if (found.kind !== 'exists') return found;
    const { state, outcomeSource } = found.entry;
    const free = state === 'FAILED' && outcomeSource === 'NOT_SENT';
    return free ? followUps.reopen(found) : found;
  }

  async #takeOver(): Promise<void> {
    await this.#bench.makeDue();
    const doubts = [...(await this.#bench.journal.takeOver(50, this.#payments[0]?.psp ?? ''))];
    doubts.sort((one, other) => (one.entry.idempotencyKey < other.entry.idempotencyKey ? -1 : 1));
    this.#holds.push(...doubts);
    // Of several entries of one payment each shows what the statement did with all of them.
    const seen = doubts.map((doubt) => ({ ...gist(doubt), checks: doubt.checks, version: null }));
    this.said.push(seen);
  }

  async #followUp(): Promise<void> {
    const { merchantId, paymentId, psp } = this.#pick(this.#holds).entry;
    this.#made += 1;
    const asked = {
      merchantId,
      paymentId,
      psp,
      idempotencyKey: this.#choose(4) === 0 ? 'step' : `step-${this.#made}`,
      fingerprint: FINGERPRINT,
      operation: this.#pick(['CAPTURE', 'CAPTURE', 'VOID', 'REFUND', 'REFUND', 'CONFIRM'] as const),
      amountMinor: this.#pick([null, 400, 700]),
      currency: null,
      expectedVersion: this.#pick([null, null, null, 2, 3]),
      request: { some: 'request' },
    };
    const opened = await this.#bench.followUps.open(asked);
    if (opened.kind === 'opened') this.#holds.push(opened.hold);
    this.said.push(opened.kind === 'exists' ? { exists: gist(opened) } : { ...opened, hold: null });
  }

  async #cancel(): Promise<void> {
    const { merchantId, psp } = this.#payments[0] as NewPayment;
    const key = this.#pick(['a', 'b', 'c', 'd', 'step']);
    const idempotencyKey = `cancel-${this.#choose(3)}`;
    const asked = { merchantId, psp, key, idempotencyKey, fingerprint: FINGERPRINT };
    const opened = await this.#bench.cancels.cancel(asked);
    this.said.push(opened.kind === 'cancelled' ? opened.kind : { [opened.kind]: gist(opened) });
  }

  async #hear(): Promise<void> {
    const { entry } = this.#pick(this.#holds);
    const { amountMinor, currency, id: reference, psp } = entry;
    const pspReference = referenceOf(entry);
    const outcome = this.#pick([
      { kind: 'succeeded', pspReference, amountMinor, currency },
      { kind: 'declined', pspReference, declineCode: 'no_funds', soft: true },
      { kind: 'pending', pspReference },
    ] as const);
    const eventId = `${entry.merchantId}: ${outcome.kind} ${entry.idempotencyKey}`;
    const event = { eventId, type: outcome.kind, reference, outcome };
    const letter: Letter = { ...event, psp, digest: Buffer.alloc(32), event };
    const { result } = await hearEvent(this.#bench, letter);
    this.said.push({ [eventId]: result });
  }

  async #reverse(): Promise<void> {
    const holds = await this.#bench.reversals.open(10, this.#payments[0]?.psp ?? '');
    const all = [...holds].sort((one, two) =>
      one.entry.idempotencyKey < two.entry.idempotencyKey ? -1 : 1,
    );
    this.#holds.push(...all);
    this.said.push(all.map(({ entry }) => [entry.idempotencyKey, entry.request]));
  }
}

async function tell(choose: Choose, bench: Bench, payments: readonly NewPayment[]) {
  const story = new Story(choose, bench, payments);
  for (let step = 0; step < STEPS; step += 1) await story.step();
  return { said: story.said, books: await bench.books(payments[0]?.merchantId ?? '') };
}

test.each(Array.from({ length: STORIES }, (_, index) => index + 1))(
  'the model of the journal does as Postgres does: story %i',
  async (seed) => {
    const psp = `fake-${randomUUID()}`;
    const merchantId = randomUUID();
    const payments = (['CHARGE', 'AUTHORIZE', 'AUTHORIZE'] as const).map((operation, at) =>
      newPayment({ psp, merchantId, operation, idempotencyKey: 'abc'[at] as string }),
    );
    const modelled = await tell(chooseBySeed(seed), inMemory(), payments);
    expect(modelled).toEqual(await tell(chooseBySeed(seed), onPostgres(), payments));
  },
);
