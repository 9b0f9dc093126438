import { randomUUID } from 'node:crypto';
import {
  type Doubt,
  type FollowUp,
  type FollowUpJournal,
  type FollowUpOpened,
  JournalUnavailable,
  type Payment,
  type Recorded,
  refusalOf,
} from '../payments/index.ts';
import { Batch } from './batch.ts';
import type { Database, Row } from './connect.ts';
import { againOf, type Draft, followUpRows, laneOf, newHold } from './follow-up-rows.ts';
import { OPEN_FOLLOW_UP, READ_PAYMENTS, REOPEN_FOLLOW_UP } from './follow-up-statements.ts';
import type { JournalOptions } from './journal.ts';
import { NotRun, orUnavailable } from './not-run.ts';
import { newEntry, type Reopening, reopenRow } from './open-rows.ts';
import { SETTLE, TAKE_OVER_FIRST } from './outcome-statements.ts';
import { toPayment, toRecorded } from './rows.ts';
import { settleRow, toDoubt } from './settle-rows.ts';
import { isTaken } from './statement-refused.ts';
import { READ_BY_KEY } from './statements.ts';
import { NEVER_SENT } from './take-back.ts';

type Options = Pick<
  JournalOptions,
  'leaseMs' | 'recoverAfterMs' | 'recoveryLeaseMs' | 'openBudgetMs'
>;

type Key = Pick<FollowUp, 'merchantId' | 'paymentId' | 'idempotencyKey'>;
type Found = Recorded & { readonly ownerToken: string };

/** What stood in the way of T1. */
interface Standing {
  readonly recorded: Found | undefined;
  readonly payment: Payment | undefined;
}

/** Between T1 and the look at what stood in its way the payment may have changed: so often it is tried. */
const MOST_TRIES = 5;
const TAKE_BACK_MS = 30_000;

/** T1 of captures, voids and refunds in Postgres. T2 and recovery are the same for all entries. */
export class PostgresFollowUps implements FollowUpJournal {
  readonly #database: Database;
  readonly #options: Options;
  readonly #opens: Batch<Draft, Row | undefined>;
  readonly #reopens: Batch<Reopening, undefined>;
  readonly #reads: Batch<Key, Standing>;

  constructor(database: Database, options: Options) {
    this.#database = database;
    this.#options = options;
    const gathering = {
      budgetMs: options.openBudgetMs,
      maxItems: 512,
      maxWaiting: 20_000,
      slots: 2,
      concernsAll: (error: unknown) => error instanceof JournalUnavailable,
    };
    this.#opens = new Batch({
      ...gathering,
      laneOf,
      run: (drafts, ms) => this.#openAll(drafts, ms),
    });
    this.#reopens = new Batch({
      ...gathering,
      laneOf: ({ recorded: { entry } }) => ({ name: `${entry.merchantId} ${entry.paymentId}` }),
      run: (asked, ms) => this.#reopenAll(asked, ms),
    });
    this.#reads = new Batch({ ...gathering, run: (asked, ms) => this.#readAll(asked, ms) });
  }

  async open(followUp: FollowUp): Promise<FollowUpOpened> {
    for (let tries = 1; ; tries += 1) {
      const draft = { ...followUp, ...newEntry(followUp.merchantId) };
      const opened = await this.#open(draft);
      if (opened !== undefined) return opened;
      if (tries === MOST_TRIES) throw new JournalUnavailable('The payment kept changing.');
    }
  }

  async reopen(recorded: Recorded): Promise<FollowUpOpened> {
    const asked = againOf(recorded.entry);
    for (let tries = 1; ; tries += 1) {
      const ownerToken = randomUUID();
      await orUnavailable(this.#reopens.add({ recorded, ownerToken }));
      const found = await orUnavailable(this.#reads.add(asked));
      if (found.recorded === undefined) throw new JournalUnavailable('The entry is not there.');
      if (found.recorded.entry.attempt !== recorded.entry.attempt) {
        return asOpened(found.recorded, ownerToken);
      }
      const refusal = refusalOf(found.payment, asked);
      if (refusal !== undefined) return { kind: 'refused', refusal };
      if (tries === MOST_TRIES) throw new JournalUnavailable('The payment kept changing.');
    }
  }

  async takeOverFirst({ merchantId, id, psp }: Payment): Promise<Doubt | undefined> {
    const ownerToken = randomUUID();
    const { recoveryLeaseMs, openBudgetMs } = this.#options;
    const parameters = [1, ownerToken, recoveryLeaseMs, psp, merchantId, id];
    const [row] = await this.#database.run(TAKE_OVER_FIRST, parameters, openBudgetMs);
    return row === undefined ? undefined : toDoubt(row, ownerToken);
  }

  /** @returns undefined if nothing stands in the way any more */
  async #open(draft: Draft): Promise<FollowUpOpened | undefined> {
    try {
      const row = await orUnavailable(this.#opens.add(draft));
      if (row !== undefined) return { kind: 'opened', hold: newHold(draft, row) };
    } catch (error) {
      if (mayHaveHappened(error)) this.#takeBack(draft);
      if (!isTaken(error)) throw error;
    }
    const { recorded, payment } = await orUnavailable(this.#reads.add(draft));
    if (recorded !== undefined) return asOpened(recorded, draft.ownerToken);
    const refusal = refusalOf(payment, draft);
    return refusal === undefined ? undefined : { kind: 'refused', refusal };
  }

  async #openAll(drafts: readonly Draft[], budgetMs: number): Promise<(Row | undefined)[]> {
    const asked = followUpRows(drafts, this.#options);
    const rows = await this.#database.run(OPEN_FOLLOW_UP, [JSON.stringify(asked)], budgetMs);
    const byEntry = new Map(rows.map((row) => [row['entry_id'], row]));
    return drafts.map(({ entryId }) => byEntry.get(entryId));
  }

  async #reopenAll(asked: readonly Reopening[], budgetMs: number): Promise<undefined[]> {
    const { leaseMs, recoverAfterMs } = this.#options;
    const text = JSON.stringify(asked.map((one) => reopenRow(one, leaseMs, recoverAfterMs)));
    await this.#database.run(REOPEN_FOLLOW_UP, [text], budgetMs);
    return asked.map(() => undefined);
  }

  async #readAll(asked: readonly Key[], budgetMs: number): Promise<Standing[]> {
    const endsAt = performance.now() + budgetMs;
    const text = JSON.stringify(
      asked.map(({ merchantId, idempotencyKey, paymentId }) => ({
        merchant_id: merchantId,
        idempotency_key: idempotencyKey,
        payment_id: paymentId,
      })),
    );
    const entries = await this.#database.run(READ_BY_KEY, [text], budgetMs);
    const payments = await this.#database.run(READ_PAYMENTS, [text], endsAt - performance.now());
    const byKey = new Map(
      entries.map((row) => [
        `${row['merchant_id']} ${row['idempotency_key']}`,
        { ...toRecorded(row), ownerToken: row['owner_token'] as string },
      ]),
    );
    const byId = new Map(
      payments.map((row) => [`${row['merchant_id']} ${row['payment_id']}`, toPayment(row)]),
    );
    return asked.map(({ merchantId, idempotencyKey, paymentId }) => ({
      recorded: byKey.get(`${merchantId} ${idempotencyKey}`),
      payment: byId.get(`${merchantId} ${paymentId}`),
    }));
  }

  /** The caller was told that nothing was sent: were the entry left, recovery would send it. */
  #takeBack(draft: Draft): void {
    const row = settleRow({ hold: newHold(draft, {}), conclusion: NEVER_SENT });
    this.#database.run(SETTLE, [JSON.stringify([row])], TAKE_BACK_MS).catch(() => {
      // Recovery asks the PSP about the entry, should it exist.
    });
  }
}

/** A statement whose reply was lost finds its own row on the second run: it is ours after all. */
function asOpened(recorded: Found, ownerToken: string): FollowUpOpened {
  const ours = recorded.ownerToken === ownerToken && recorded.entry.state === 'SENDING';
  return ours
    ? { kind: 'opened', hold: { ...recorded, ownerToken } }
    : { kind: 'exists', ...recorded };
}

/** False if it is sure that T1 was not written: then there is nothing to take back. */
function mayHaveHappened(error: unknown): boolean {
  return error instanceof JournalUnavailable && !(error.cause instanceof NotRun);
}
