import { createHash, randomUUID } from 'node:crypto';
import type { FirstOperation, Hold, Late, Reversals } from '../payments/index.ts';
import type { Database, Row } from './connect.ts';
import type { JournalOptions } from './journal.ts';
import { newEntry } from './open-rows.ts';
import { FIRST, LEGS } from './outcome-statements.ts';
import { ENTRY_COLUMNS, PAYMENT_COLUMNS, toRecorded } from './rows.ts';

/**
 * Evidence of an execution under an entry that was refused. Evidence is written by whoever comes with
 * it, before or after the refusal, so that no order of commits can hide one from the next look. What
 * another payment has booked is not given back here: its webhook is a contradiction for a person.
 */
const FIND = `
select distinct on (e.merchant_id, o.psp_reference)
  e.merchant_id, e.id as entry_id, e.operation, o.psp_reference
from psp_observations o
join journal_entries e on e.merchant_id = o.merchant_id and e.id = o.entry_id
where o.state = 'SUCCEEDED' and o.created_at > clock_timestamp() - $3::float8 * interval '1 ms'
  and length(o.psp_reference) between 1 and 200 and e.psp = $2::text
  and e.operation in (${FIRST}) and e.state in ('DECLINED', 'FAILED')
  and e.outcome_source <> 'NOT_SENT'
  and not exists (select 1 from journal_entries r
    where r.merchant_id = e.merchant_id and r.idempotency_key = 'reverse ' || o.psp_reference)
  and not exists (select 1 from journal_entries b
    where b.merchant_id = e.merchant_id and b.psp_reference = o.psp_reference
      and b.payment_id <> e.payment_id)
order by e.merchant_id, o.psp_reference, o.created_at
limit $1::integer`;

/** T1: the entry and, where money was taken, what is posted of it. */
const OPEN = `
with asked as (
  select * from json_to_recordset($1::text::json) as r(
    merchant_id uuid, reversed_id uuid, entry_id uuid, idempotency_key text, fingerprint bytea,
    owner_token uuid, psp_idempotency_key uuid, request jsonb, lease_ms bigint)
), opened as (
  insert into journal_entries (
    merchant_id, id, payment_id, idempotency_key, operation, amount, amount_minor, currency,
    exponent, fingerprint_version, fingerprint, state, owner_token, lease_until, psp,
    psp_idempotency_key, request, next_check_at, sent_at, created_at)
  select
    e.merchant_id, a.entry_id, e.payment_id, a.idempotency_key, 'REVERSE', e.amount,
    e.amount_minor, e.currency, e.exponent, 1, a.fingerprint, 'SENDING', a.owner_token,
    clock_timestamp() + a.lease_ms * interval '1 ms', e.psp, a.psp_idempotency_key, a.request,
    clock_timestamp() + a.lease_ms * interval '1 ms', clock_timestamp(), now()
  from asked a join journal_entries e on e.merchant_id = a.merchant_id and e.id = a.reversed_id
  order by e.merchant_id, a.idempotency_key
  on conflict do nothing
  returning *
), posted as (
  insert into postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency)
  select o.merchant_id, o.id, l.leg, l.account, l.direction, o.amount_minor, o.currency
  from opened o join (values ${LEGS}) as l(flow, leg, account, direction) on l.flow = 'late'
  where o.request ->> 'operation' = 'CHARGE'
)
select ${ENTRY_COLUMNS}, ${PAYMENT_COLUMNS}
from opened e join payments p on p.merchant_id = e.merchant_id and p.id = e.payment_id`;

/** Evidence is looked through as a whole now and then, and else what is fresh, in ms. */
const WHOLE_EVERY_MS = 60_000;
const FRESH_MS = 600_000;
const ALL_MS = 1e13;

/** Reversals in Postgres: `UNIQUE (merchant_id, idempotency_key)` decides who sends one. */
export class PostgresReversals implements Reversals {
  readonly #database: Database;
  readonly #options: Pick<JournalOptions, 'recoveryLeaseMs' | 'settleBudgetMs'>;
  #wholeAt = Number.NEGATIVE_INFINITY;

  constructor(
    database: Database,
    options: Pick<JournalOptions, 'recoveryLeaseMs' | 'settleBudgetMs'>,
  ) {
    this.#database = database;
    this.#options = options;
  }

  async open(limit: number, psp: string): Promise<readonly Hold[]> {
    const { recoveryLeaseMs, settleBudgetMs } = this.#options;
    const now = performance.now();
    const whole = now - this.#wholeAt >= WHOLE_EVERY_MS;
    const parameters = [limit, psp, whole ? ALL_MS : FRESH_MS];
    const late = await this.#database.run(FIND, parameters, settleBudgetMs);
    if (whole && late.length < limit) this.#wholeAt = now;
    if (late.length === 0) return [];
    const asked = late.map((row) => reversalRow(row, recoveryLeaseMs));
    const rows = await this.#database.run(OPEN, [JSON.stringify(asked)], settleBudgetMs);
    return rows.map((row) => ({ ...toRecorded(row), ownerToken: row['owner_token'] as string }));
  }
}

function reversalRow(late: Row, leaseMs: number): Row {
  const merchantId = late['merchant_id'] as string;
  const chargeReference = late['psp_reference'] as string;
  const operation = late['operation'] as FirstOperation;
  const idempotencyKey = `reverse ${chargeReference}`;
  const { entryId, pspKey } = newEntry(merchantId);
  return {
    merchant_id: merchantId,
    reversed_id: late['entry_id'],
    entry_id: entryId,
    idempotency_key: idempotencyKey,
    fingerprint: `\\x${createHash('sha256').update(idempotencyKey).digest('hex')}`,
    owner_token: randomUUID(),
    psp_idempotency_key: pspKey,
    request: { operation, chargeReference } satisfies Late,
    lease_ms: leaseMs,
  };
}
