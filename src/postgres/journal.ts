import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import {
  type Conclusion,
  type Doubt,
  type Hold,
  type Journal,
  JournalUnavailable,
  type NewPayment,
  type Opened,
  type Recorded,
  type Settled,
  statusAfter,
} from '../payments/index.ts';
import { Batch, QueueFull } from './batch.ts';
import type { Database, Row } from './connect.ts';
import { type Draft, draftOf, newHold, openRow } from './open-rows.ts';
import { toRecorded } from './rows.ts';
import { settled, settleRow, type Told } from './settle-rows.ts';
import {
  OPEN,
  READ_BY_KEY,
  READ_LIVE_BY_TRANSACTION_ID,
  REOPEN,
  SETTLE,
  TAKE_OVER,
} from './statements.ts';

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
}

/** How long it is tried to take back an entry whose T1 may or may not have happened, in ms. */
const ABANDON_BUDGET_MS = 30_000;
const BATCH = { maxItems: 512, maxWaiting: 20_000, slots: 2 } as const;
const LIVE_TRANSACTION_ID = 'payments_live_transaction_id';

type Intent = Pick<NewPayment, 'merchantId' | 'idempotencyKey'>;
type Found = Recorded & { readonly ownerToken: string };

const NEVER_SENT: Conclusion = {
  state: 'FAILED',
  source: 'NOT_SENT',
  pspReference: null,
  declineCode: null,
  softDecline: null,
  reason: 'the journal did not answer',
  nextCheckMs: null,
  retryAfterMs: null,
};

/** The journal in Postgres: T1 and T2 as single statements, gathered from concurrent requests. */
export class PostgresJournal implements Journal {
  readonly #database: Database;
  readonly #options: JournalOptions;
  readonly #opens: Batch<Draft, Row | undefined>;
  readonly #settles: Batch<Told, Row | undefined>;
  readonly #reads: Batch<Intent, Found | undefined>;

  constructor(database: Database, options: JournalOptions) {
    this.#database = database;
    this.#options = options;
    const gathering = { ...BATCH, concernsAll };
    this.#opens = new Batch({ ...gathering, run: (drafts) => this.#openAll(drafts) });
    this.#settles = new Batch({ ...gathering, run: (told) => this.#settleAll(told) });
    this.#reads = new Batch({ ...gathering, run: (keys) => this.#readAll(keys) });
  }

  async open(payment: NewPayment): Promise<Opened> {
    const draft = draftOf(payment);
    try {
      const row = await unavailableIfFull(this.#opens.add(draft));
      if (row !== undefined) return { kind: 'opened', hold: newHold(draft, row) };
    } catch (error) {
      if (error instanceof JournalUnavailable) this.#abandon(draft);
      if (!refusedBy(error, LIVE_TRANSACTION_ID)) throw error;
    }
    return this.#whatStandsInTheWay(payment, draft.ownerToken);
  }

  async reopen({ entry, payment }: Recorded): Promise<Opened> {
    const { leaseMs, recoverAfterMs, openBudgetMs } = this.#options;
    const ownerToken = randomUUID();
    const { merchantId, id, attempt } = entry;
    const parameters = [merchantId, id, attempt, ownerToken, leaseMs, recoverAfterMs];
    try {
      await this.#database.run(REOPEN, parameters, openBudgetMs);
    } catch (error) {
      if (!refusedBy(error, LIVE_TRANSACTION_ID)) throw error;
      const paymentId = await this.#liveUnder(merchantId, payment.transactionId);
      if (paymentId !== undefined) return { kind: 'transaction-id-taken', paymentId };
    }
    return this.#byKey(entry, ownerToken);
  }

  async settle(hold: Hold, conclusion: Conclusion): Promise<Settled> {
    const row = await unavailableIfFull(this.#settles.add({ hold, conclusion }));
    if (row !== undefined) return { ...settled(hold, conclusion, row), moved: true };
    const found = await unavailableIfFull(this.#reads.add(hold.entry));
    if (found === undefined) throw new JournalUnavailable('The entry could not be read.');
    // After a lost reply the re-run finds its own commit: same attempt, and where it wanted to go.
    const { state, attempt } = found.entry;
    return { ...found, moved: attempt === hold.entry.attempt && state === conclusion.state };
  }

  async takeOver(limit: number): Promise<readonly Doubt[]> {
    const ownerToken = randomUUID();
    const { recoveryLeaseMs, settleBudgetMs } = this.#options;
    const rows = await this.#database.run(
      TAKE_OVER,
      [limit, ownerToken, recoveryLeaseMs],
      settleBudgetMs,
    );
    return rows.map((row) => {
      const { entry, payment } = toRecorded(row);
      const status = statusAfter(entry.operation, entry.state, entry.outcomeSource);
      const ageMs = Number(row['age_ms']);
      const checks = (row['checks'] as number) - 1;
      return { entry, payment: { ...payment, status }, ownerToken, ageMs, checks };
    });
  }

  /** The caller is told that nothing was sent: if the entry was written after all, it says so too. */
  #abandon(draft: Draft): void {
    const hold = newHold(draft, { created_at: new Date(), metadata: null });
    const text = JSON.stringify([settleRow({ hold, conclusion: NEVER_SENT })]);
    this.#database.run(SETTLE, [text], ABANDON_BUDGET_MS).catch(() => {
      // Recovery asks the PSP about the entry, should it exist.
    });
  }

  /** The entry under the key, or the payment under the transaction id; one of them refused T1. */
  async #whatStandsInTheWay(payment: NewPayment, ownerToken: string): Promise<Opened> {
    const recorded = await unavailableIfFull(this.#reads.add(payment));
    if (recorded !== undefined) return asOpened(recorded, ownerToken);
    const paymentId = await this.#liveUnder(payment.merchantId, payment.transactionId);
    if (paymentId !== undefined) return { kind: 'transaction-id-taken', paymentId };
    throw new JournalUnavailable('What stood in the way is gone; the same key may try again.');
  }

  async #byKey(entry: Recorded['entry'], ownerToken: string): Promise<Opened> {
    const recorded = await unavailableIfFull(this.#reads.add(entry));
    if (recorded === undefined) throw new JournalUnavailable('The entry could not be read.');
    return asOpened(recorded, ownerToken);
  }

  async #liveUnder(merchantId: string, transactionId: string | null): Promise<string | undefined> {
    const { openBudgetMs } = this.#options;
    const parameters = [merchantId, transactionId];
    const [row] = await this.#database.run(READ_LIVE_BY_TRANSACTION_ID, parameters, openBudgetMs);
    return row?.['payment_id'] as string | undefined;
  }

  async #openAll(drafts: readonly Draft[]): Promise<(Row | undefined)[]> {
    const { leaseMs, recoverAfterMs, openBudgetMs } = this.#options;
    const asked = drafts.map((draft) => openRow(draft, leaseMs, recoverAfterMs));
    const rows = await this.#database.run(OPEN, [JSON.stringify(asked)], openBudgetMs);
    const byPayment = new Map(rows.map((row) => [row['payment_id'], row]));
    return drafts.map(({ paymentId }) => byPayment.get(paymentId));
  }

  async #settleAll(told: readonly Told[]): Promise<(Row | undefined)[]> {
    const text = JSON.stringify(told.map(settleRow));
    const rows = await this.#database.run(SETTLE, [text], this.#options.settleBudgetMs);
    const byEntry = new Map(rows.map((row) => [row['entry_id'], row]));
    return told.map(({ hold }) => byEntry.get(hold.entry.id));
  }

  async #readAll(keys: readonly Intent[]): Promise<(Found | undefined)[]> {
    const text = JSON.stringify(
      keys.map((key) => ({ merchant_id: key.merchantId, idempotency_key: key.idempotencyKey })),
    );
    const rows = await this.#database.run(READ_BY_KEY, [text], this.#options.openBudgetMs);
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

/** A statement whose reply was lost finds its own row on the second run: it is ours after all. */
function asOpened(recorded: Found, ownerToken: string): Opened {
  const ours = recorded.ownerToken === ownerToken && recorded.entry.state === 'SENDING';
  return ours
    ? { kind: 'opened', hold: { ...recorded, ownerToken } }
    : { kind: 'exists', ...recorded };
}

function refusedBy(error: unknown, constraint: string): boolean {
  return error instanceof postgres.PostgresError && error.constraint_name === constraint;
}

/** A database that is gone is gone for every row of a batch; a refused row is one row's fault. */
function concernsAll(error: unknown): boolean {
  return error instanceof JournalUnavailable;
}

async function unavailableIfFull<T>(added: Promise<T>): Promise<T> {
  try {
    return await added;
  } catch (error) {
    if (error instanceof QueueFull) {
      throw new JournalUnavailable('Too many payments wait for the database.', { cause: error });
    }
    throw error;
  }
}
