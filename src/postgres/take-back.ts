import { type Conclusion, JournalUnavailable } from '../payments/index.ts';
import { Batch } from './batch.ts';
import type { Database } from './connect.ts';
import { type Draft, newHold, openRow, type Reopening, reopenRow } from './open-rows.ts';
import { SETTLE } from './outcome-statements.ts';
import { settleRow } from './settle-rows.ts';
import { REOPEN } from './statements.ts';

/** In half of this, a database that comes back is early enough, in ms. */
const BUDGET_MS = 60_000;
const GATHERING = {
  budgetMs: BUDGET_MS,
  maxItems: 512,
  maxWaiting: 20_000,
  slots: 1,
  concernsAll: (error: unknown) => error instanceof JournalUnavailable,
} as const;

/** What an entry comes to whose T1 never answered. */
export const NEVER_SENT: Conclusion = {
  state: 'FAILED',
  source: 'NOT_SENT',
  pspReference: null,
  declineCode: null,
  softDecline: null,
  reason: 'the journal did not answer',
  nextCheckMs: null,
  retryAfterMs: null,
};

/** Takes the place of T1 as if it had been written and taken back. */
const FORESTALL = `
with asked as (
  select * from json_to_recordset($1::text::json) as r(
    merchant_id uuid, payment_id uuid, entry_id uuid, idempotency_key text, operation text,
    amount_minor bigint, amount numeric, currency text, exponent smallint,
    fingerprint_version smallint, fingerprint bytea, owner_token uuid, psp text,
    psp_idempotency_key uuid, transaction_id text, payment_method text, description text,
    metadata jsonb)
), written as (
  insert into journal_entries (
    merchant_id, id, payment_id, idempotency_key, operation, amount, amount_minor, currency,
    exponent, fingerprint_version, fingerprint, state, outcome_source, reason, owner_token,
    lease_until, psp, psp_idempotency_key, sent_at, settled_at)
  select
    merchant_id, entry_id, payment_id, idempotency_key, operation, amount, amount_minor, currency,
    exponent, fingerprint_version, fingerprint, 'FAILED', 'NOT_SENT', '${NEVER_SENT.reason}',
    owner_token, clock_timestamp(), psp, psp_idempotency_key, clock_timestamp(), clock_timestamp()
  from asked
  order by merchant_id, idempotency_key
  on conflict do nothing
  returning id
)
insert into payments (
  merchant_id, id, transaction_id, amount_minor, currency, status, payment_method, description,
  metadata)
select
  merchant_id, payment_id, transaction_id, amount_minor, currency, 'NOT_SENT', payment_method,
  description, metadata
from asked
where (entry_id in (select id from written)) is true`;

/**
 * Undoes T1 where its reply never came. The caller was told that nothing was sent; were the entry
 * left as it is, recovery would send it some day. A T1 that is still on its way must not come true
 * either: so its place is taken first, and only then is undone what stands there.
 */
export class TakeBack {
  readonly #opens: Batch<Draft, undefined>;
  readonly #reopens: Batch<Reopening, undefined>;

  constructor(database: Database) {
    this.#opens = new Batch({
      ...GATHERING,
      run: async (drafts, budgetMs) => {
        const rows = drafts.map((draft) => openRow(draft, 0, 0));
        await database.run(FORESTALL, [JSON.stringify(rows)], budgetMs);
        const now = new Date();
        const holds = drafts.map((draft) => newHold(draft, { created_at: now, metadata: null }));
        const told = holds.map((hold) => settleRow({ hold, conclusion: NEVER_SENT }));
        await database.run(SETTLE, [JSON.stringify(told)], budgetMs);
        return drafts.map(() => undefined);
      },
    });
    this.#reopens = new Batch({
      ...GATHERING,
      run: async (reopenings, budgetMs) => {
        const rows = reopenings.map((reopening) => reopenRow(reopening, 0, BUDGET_MS));
        await database.run(REOPEN, [JSON.stringify(rows)], budgetMs);
        const told = reopenings.map(({ recorded, ownerToken }) => {
          const { attempt } = recorded.entry;
          const entry = { ...recorded.entry, state: 'SENDING' as const, attempt: attempt + 1 };
          const hold = { ...recorded, entry, ownerToken };
          return settleRow({ hold, conclusion: NEVER_SENT });
        });
        await database.run(SETTLE, [JSON.stringify(told)], budgetMs);
        return reopenings.map(() => undefined);
      },
    });
  }

  /** In the background. Where it fails too, recovery asks the PSP about the entry. */
  open(draft: Draft): void {
    this.#opens.add(draft).catch(() => {});
  }

  reopen(reopening: Reopening): void {
    this.#reopens.add(reopening).catch(() => {});
  }
}
