import { randomUUID } from 'node:crypto';
import {
  type Conclusion,
  concludeTakenReference,
  type Doubt,
  type Hold,
  type Journal,
  JournalUnavailable,
  type NewPayment,
  type Opened,
  type Recorded,
  type Settled,
} from '../payments/index.ts';
import { Batch } from './batch.ts';
import type { Database, Row } from './connect.ts';
import { NotRun, orUnavailable } from './not-run.ts';
import { type Draft, draftOf, newHold, openRow, type Reopening, reopenRow } from './open-rows.ts';
import { SETTLE, TAKE_OVER } from './outcome-statements.ts';
import { toRecorded } from './rows.ts';
import { settled, settleRow, type Told, toDoubt } from './settle-rows.ts';
import { StatementRefused } from './statement-refused.ts';
import { OPEN, READ_BY_KEY, READ_LIVE_BY_TRANSACTION_ID, REOPEN } from './statements.ts';
import { TakeBack } from './take-back.ts';

export interface JournalOptions {
  /** How long an opened entry belongs to the request that opened it, in ms. */
  readonly leaseMs: number;
  /** How long after it was opened an entry is taken over, in ms; longer than the lease. */
  readonly recoverAfterMs: number;
  /** How long a recoverer holds what it took over, in ms. */
  readonly recoveryLeaseMs: number;
  /** How long a request may wait for T1, and for reads, in ms. */
  readonly openBudgetMs: number;
  /** How long a request may wait for T2, in ms. */
  readonly settleBudgetMs: number;
  /** Told of each outcome that moved nothing, since the hold was no longer the entry's own. */
  readonly onFenced?: () => void;
}

const BATCH = { maxItems: 512, maxWaiting: 20_000, slots: 2 } as const;
const LIVE_TRANSACTION_ID = 'payments_live_transaction_id';

type Intent = Pick<NewPayment, 'merchantId' | 'idempotencyKey'>;
type Found = Recorded & { readonly ownerToken: string };

/** The journal in Postgres: T1 and T2 as single statements, gathered from concurrent requests. */
export class PostgresJournal implements Journal {
  readonly #database: Database;
  readonly #options: JournalOptions;
  readonly #opens: Batch<Draft, Row | undefined>;
  readonly #reopens: Batch<Reopening, undefined>;
  readonly #settles: Batch<Told, Row | undefined>;
  readonly #reads: Batch<Intent, Found | undefined>;
  readonly #takeBack: TakeBack;

  constructor(database: Database, options: JournalOptions) {
    this.#database = database;
    this.#options = options;
    const opening = { ...BATCH, concernsAll, budgetMs: options.openBudgetMs };
    const settling = { ...opening, budgetMs: options.settleBudgetMs, laneOf };
    this.#opens = new Batch({ ...opening, run: (drafts, ms) => this.#openAll(drafts, ms) });
    this.#reopens = new Batch({ ...opening, run: (asked, ms) => this.#reopenAll(asked, ms) });
    this.#settles = new Batch({ ...settling, run: (told, ms) => this.#settleAll(told, ms) });
    this.#reads = new Batch({ ...opening, run: (keys, ms) => this.#readAll(keys, ms) });
    this.#takeBack = new TakeBack(database);
  }

  async open(payment: NewPayment): Promise<Opened> {
    const draft = draftOf(payment);
    try {
      return await this.#open(payment, draft);
    } catch (error) {
      if (mayHaveHappened(error)) this.#takeBack.open(draft);
      throw error;
    }
  }

  async reopen(recorded: Recorded): Promise<Opened> {
    const reopening = { recorded, ownerToken: randomUUID() };
    try {
      return await this.#reopen(reopening);
    } catch (error) {
      if (mayHaveHappened(error)) this.#takeBack.reopen(reopening);
      throw error;
    }
  }

  async settle(hold: Hold, conclusion: Conclusion): Promise<Settled> {
    const row = await orUnavailable(this.#settles.add({ hold, conclusion }));
    if (row !== undefined) return { ...settled(hold, conclusion, row), moved: true };
    const found = await orUnavailable(this.#reads.add(hold.entry));
    if (found === undefined) throw new JournalUnavailable('The entry could not be read.');
    const { state, attempt } = found.entry;
    const ours = attempt === hold.entry.attempt && found.ownerToken === hold.ownerToken;
    // Ours, and yet it did not move: only a success whose reference is taken is refused so.
    if (ours && state === hold.entry.state && conclusion.state === 'SUCCEEDED') {
      return this.settle(hold, concludeTakenReference(state, conclusion));
    }
    // After a lost reply the re-run finds its own commit where it wanted to go.
    const moved = ours && state === conclusion.state;
    if (!moved) this.#options.onFenced?.();
    return { ...found, moved };
  }

  async takeOver(limit: number, psp: string): Promise<readonly Doubt[]> {
    const ownerToken = randomUUID();
    const { recoveryLeaseMs, settleBudgetMs } = this.#options;
    const parameters = [limit, ownerToken, recoveryLeaseMs, psp];
    const rows = await this.#database.run(TAKE_OVER, parameters, settleBudgetMs);
    return rows.map((row) => toDoubt(row, ownerToken));
  }

  async #open(payment: NewPayment, draft: Draft): Promise<Opened> {
    try {
      const row = await orUnavailable(this.#opens.add(draft));
      if (row !== undefined) return { kind: 'opened', hold: newHold(draft, row) };
    } catch (error) {
      if (!refusedBy(error, LIVE_TRANSACTION_ID)) throw error;
    }
    return this.#whatStandsInTheWay(payment, draft.ownerToken);
  }

  async #reopen(reopening: Reopening): Promise<Opened> {
    const { entry, payment } = reopening.recorded;
    try {
      await orUnavailable(this.#reopens.add(reopening));
    } catch (error) {
      if (!refusedBy(error, LIVE_TRANSACTION_ID)) throw error;
      const paymentId = await this.#liveUnder(entry.merchantId, payment.transactionId);
      if (paymentId !== undefined) return { kind: 'transaction-id-taken', paymentId };
    }
    const found = await orUnavailable(this.#reads.add(entry));
    if (found === undefined) throw new JournalUnavailable('The entry could not be read.');
    return asOpened(found, reopening.ownerToken);
  }

  /** The entry under the key, or the payment under the transaction id; one of them refused T1. */
  async #whatStandsInTheWay(payment: NewPayment, ownerToken: string): Promise<Opened> {
    const recorded = await orUnavailable(this.#reads.add(payment));
    if (recorded !== undefined) return asOpened(recorded, ownerToken);
    const paymentId = await this.#liveUnder(payment.merchantId, payment.transactionId);
    if (paymentId !== undefined) return { kind: 'transaction-id-taken', paymentId };
    throw new JournalUnavailable('What stood in the way is gone; the same key may try again.');
  }

  async #liveUnder(merchantId: string, transactionId: string | null): Promise<string | undefined> {
    const { openBudgetMs } = this.#options;
    const parameters = [merchantId, transactionId];
    const [row] = await this.#database.run(READ_LIVE_BY_TRANSACTION_ID, parameters, openBudgetMs);
    return row?.['payment_id'] as string | undefined;
  }

  async #openAll(drafts: readonly Draft[], budgetMs: number): Promise<(Row | undefined)[]> {
    const { leaseMs, recoverAfterMs } = this.#options;
    const asked = drafts.map((draft) => openRow(draft, leaseMs, recoverAfterMs));
    const rows = await this.#database.run(OPEN, [JSON.stringify(asked)], budgetMs);
    const byPayment = new Map(rows.map((row) => [row['payment_id'], row]));
    return drafts.map(({ paymentId }) => byPayment.get(paymentId));
  }

  async #reopenAll(asked: readonly Reopening[], budgetMs: number): Promise<undefined[]> {
    const { leaseMs, recoverAfterMs } = this.#options;
    const text = JSON.stringify(asked.map((one) => reopenRow(one, leaseMs, recoverAfterMs)));
    await this.#database.run(REOPEN, [text], budgetMs);
    return asked.map(() => undefined);
  }

  async #settleAll(told: readonly Told[], budgetMs: number): Promise<(Row | undefined)[]> {
    const asked = told.map(settleRow);
    // Each statement takes the payments in one order, so that no two wait for each other.
    const ordered = told.map((one, index) => ({ payment: paymentOf(one), row: asked[index] }));
    ordered.sort((one, other) => (one.payment < other.payment ? -1 : 1));
    const text = JSON.stringify(ordered.map(({ row }) => row));
    const rows = await this.#database.run(SETTLE, [text], budgetMs);
    const byEvent = new Map(rows.map((row) => [row['event_id'], row]));
    return asked.map((row) => byEvent.get(row['event_id']));
  }

  async #readAll(keys: readonly Intent[], budgetMs: number): Promise<(Found | undefined)[]> {
    const text = JSON.stringify(
      keys.map((key) => ({ merchant_id: key.merchantId, idempotency_key: key.idempotencyKey })),
    );
    const rows = await this.#database.run(READ_BY_KEY, [text], budgetMs);
    const found = new Map(
      rows.map((row) => [
        `${row['merchant_id']} ${row['idempotency_key']}`,
        { ...toRecorded(row), ownerToken: row['owner_token'] as string },
      ]),
    );
    return keys.map(({ merchantId, idempotencyKey }) =>
      found.get(`${merchantId} ${idempotencyKey}`),
    );
  }
}

function paymentOf({ hold: { entry } }: Told): string {
  return `${entry.merchantId} ${entry.paymentId}`;
}

/** One statement changes a payment once: what else is told of it waits for the next. */
const laneOf = (told: Told) => ({ name: paymentOf(told) });

/** A statement whose reply was lost finds its own row on the second run: it is ours after all. */
function asOpened(recorded: Found, ownerToken: string): Opened {
  const ours = recorded.ownerToken === ownerToken && recorded.entry.state === 'SENDING';
  return ours
    ? { kind: 'opened', hold: { ...recorded, ownerToken } }
    : { kind: 'exists', ...recorded };
}

function refusedBy(error: unknown, constraint: string): boolean {
  return error instanceof StatementRefused && error.constraint === constraint;
}

/** A database that is gone is gone for every row of a batch; a refused row is one row's fault. */
function concernsAll(error: unknown): boolean {
  return error instanceof JournalUnavailable;
}

/** False if it is sure that T1 was not written: then there is nothing to take back. */
function mayHaveHappened(error: unknown): boolean {
  return error instanceof JournalUnavailable && !(error.cause instanceof NotRun);
}
