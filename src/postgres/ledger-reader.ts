import { validate as isUuid } from 'uuid';
import {
  ACCOUNTS,
  type Balance,
  type EntriesOfPayment,
  type JournalEntry,
  type LedgerHealth,
  type LedgerReader,
  type PageRequest,
  type Posting,
} from '../payments/index.ts';
import type { Database, Row } from './connect.ts';
import { ENTRY_COLUMNS, toEntry } from './rows.ts';

const BY_IDS = `
select ${ENTRY_COLUMNS}
from json_to_recordset($2::text::json) as r(id uuid)
join journal_entries e on e.merchant_id = $1::uuid and e.id = r.id and e.operation <> 'CANCEL'`;

const PAGE = `
select ${ENTRY_COLUMNS} from journal_entries e
where e.merchant_id = $1::uuid and e.operation <> 'CANCEL' and ($2::uuid is null or e.id < $2::uuid)
order by e.id desc limit $3::integer`;

/** One page for each payment that is asked for, in one statement. */
const OF_PAYMENTS = `
select r.place, x.* from json_to_recordset($2::text::json)
  as r(place integer, payment_id uuid, after uuid, most integer)
cross join lateral (
  select ${ENTRY_COLUMNS} from journal_entries e
  where e.merchant_id = $1::uuid and e.payment_id = r.payment_id
    and (r.after is null or e.id > r.after)
  order by e.id limit r.most) x
order by r.place, x.entry_id`;

const POSTINGS = `
select p.entry_id, p.account, p.direction, p.amount_minor, p.currency, p.created_at
from json_to_recordset($2::text::json) as r(id uuid)
join postings p on p.merchant_id = $1::uuid and p.entry_id = r.id
order by p.entry_id, p.leg`;

const BALANCES = `
select account, currency,
  sum(case direction when 'DEBIT' then amount_minor else -amount_minor end)::text as balance
from postings
where merchant_id = $1::uuid and ($2::timestamptz is null or created_at <= $2::timestamptz)
group by currency, account`;

const TRIALS = `
select currency,
  coalesce(sum(amount_minor) filter (where direction = 'DEBIT'), 0)::text as debits,
  coalesce(sum(amount_minor) filter (where direction = 'CREDIT'), 0)::text as credits
from postings where merchant_id = $1::uuid group by currency order by currency`;

const FAULTS = `
select
  count(*) filter (where e.state = 'SUCCEEDED' and e.operation in ('CHARGE', 'CAPTURE', 'REFUND')
    and (select true from postings p
      where p.merchant_id = e.merchant_id and p.entry_id = e.id limit 1) is null)::int
    as without_postings,
  count(*) filter (where e.settled_at is not null and e.outcome_source is distinct from 'NOT_SENT'
    and e.reason is distinct from 'cancelled'
    and (select true from outbox_events o
      where o.merchant_id = e.merchant_id and o.payment_id = e.payment_id and o.entry_id = e.id
        and o.type = lower(e.operation || '.' || e.state) limit 1) is null)::int
    as without_event,
  greatest(0, (
    select count(*) from outbox_events o
    where o.merchant_id = $1::uuid and o.created_at < clock_timestamp() - interval '10 seconds'
  ) - coalesce((
    select p.position from outbox_positions p where p.merchant_id = $1::uuid
    order by p.position desc limit 1), 0))::int as without_position,
  min(e.created_at) filter (where e.state in ('UNKNOWN', 'PENDING', 'IN_REVIEW')) as oldest_in_doubt
from journal_entries e where e.merchant_id = $1::uuid and e.operation <> 'CANCEL'`;

/**
 * Reads of the journal. Sums go over all of a merchant's postings and may take their time, so that
 * they have connections of their own: none of them may make a payment wait.
 */
export class PostgresLedgerReader implements LedgerReader {
  readonly #database: Database;
  readonly #budgetMs: number;
  readonly #sums: Database;
  readonly #sumBudgetMs: number;

  constructor(
    database: Database,
    budgetMs: number,
    sums: { readonly database: Database; readonly budgetMs: number },
  ) {
    this.#database = database;
    this.#budgetMs = budgetMs;
    this.#sums = sums.database;
    this.#sumBudgetMs = sums.budgetMs;
  }

  async entriesByIds(
    merchantId: string,
    ids: readonly string[],
  ): Promise<readonly (JournalEntry | undefined)[]> {
    const asked = JSON.stringify(ids.filter((id) => isUuid(id)).map((id) => ({ id })));
    const rows = await this.#run(BY_IDS, [merchantId, asked]);
    const found = new Map(rows.map((row) => [row['entry_id'], toEntry(row)]));
    return ids.map((id) => found.get(id.toLowerCase()));
  }

  async entries(merchantId: string, { first, after }: PageRequest) {
    const rows = await this.#run(PAGE, [merchantId, after ?? null, first + 1]);
    return rows.map(toEntry);
  }

  async entriesOf(merchantId: string, requests: readonly EntriesOfPayment[]) {
    const asked = requests.map(({ paymentId, first, after }, place) => ({
      place,
      payment_id: paymentId,
      after: after ?? null,
      most: first + 1,
    }));
    const rows = await this.#run(OF_PAYMENTS, [merchantId, JSON.stringify(asked)]);
    const pages = gathered(rows, 'place', toEntry);
    return requests.map((_, place) => pages.get(place) ?? []);
  }

  async postingsOf(merchantId: string, entryIds: readonly string[]) {
    const asked = JSON.stringify(entryIds.map((id) => ({ id })));
    const rows = await this.#run(POSTINGS, [merchantId, asked]);
    const postings = gathered(rows, 'entry_id', toPosting);
    return entryIds.map((id) => postings.get(id) ?? []);
  }

  async balances(merchantId: string, at: Date | null): Promise<readonly Balance[]> {
    const rows = await this.#sum(BALANCES, [merchantId, at?.toISOString() ?? null]);
    const sums = new Map(rows.map((row) => [`${row['currency']} ${row['account']}`, row]));
    const currencies = [...new Set(rows.map((row) => row['currency'] as string))].sort();
    return currencies.flatMap((currency) =>
      ACCOUNTS.map((account) => {
        const sum = sums.get(`${currency} ${account}`)?.['balance'] as string | undefined;
        return { account, currency, balanceMinor: BigInt(sum ?? 0) };
      }),
    );
  }

  async health(merchantId: string): Promise<LedgerHealth> {
    const [trials, [faults]] = await Promise.all([
      this.#sum(TRIALS, [merchantId]),
      this.#sum(FAULTS, [merchantId]),
    ]);
    return {
      trials: trials.map((row) => ({
        currency: row['currency'] as string,
        debitsMinor: BigInt(row['debits'] as string),
        creditsMinor: BigInt(row['credits'] as string),
      })),
      withoutPostings: faults?.['without_postings'] as number,
      withoutEvent: faults?.['without_event'] as number,
      withoutPosition: faults?.['without_position'] as number,
      oldestInDoubt: faults?.['oldest_in_doubt'] as Date | null,
    };
  }

  #run(text: string, parameters: readonly unknown[]): Promise<Row[]> {
    return this.#database.run(text, parameters, this.#budgetMs);
  }

  #sum(text: string, parameters: readonly unknown[]): Promise<Row[]> {
    return this.#sums.run(text, parameters, this.#sumBudgetMs);
  }
}

/** Rows by what they have in a column, each group in the order of the rows. */
function gathered<T>(rows: readonly Row[], column: string, make: (row: Row) => T) {
  const groups = new Map<unknown, T[]>();
  for (const row of rows) {
    const group = groups.get(row[column]) ?? [];
    group.push(make(row));
    groups.set(row[column], group);
  }
  return groups;
}

function toPosting(row: Row): Posting {
  return {
    account: row['account'] as Posting['account'],
    direction: row['direction'] as Posting['direction'],
    amountMinor: Number(row['amount_minor']),
    currency: row['currency'] as string,
    createdAt: row['created_at'] as Date,
  };
}
