import { FREE_STATUSES } from './free-statuses.ts';
import { ENTRY_COLUMNS, PAYMENT_COLUMNS } from './rows.ts';

/**
 * The hot statements. Each takes its rows as one JSON array, so that a batch of any size is the same
 * prepared statement, and each decides in its WHERE clause: the rows that come back are the answer.
 * They run with joins by nested loop over an index only (see `connect.ts`), so none joins two long
 * lists: what a later step needs is handed on by RETURNING.
 */

const FREE = FREE_STATUSES.map((status) => `'${status}'`).join(', ');

/** T1. A row comes back for each entry that this statement wrote. */
export const OPEN = `
with asked as (
  select * from json_to_recordset($1::text::json) as r(
    merchant_id uuid, payment_id uuid, entry_id uuid, idempotency_key text, operation text,
    amount_minor bigint, amount numeric, currency text, exponent smallint,
    fingerprint_version smallint, fingerprint bytea, owner_token uuid, psp text,
    psp_idempotency_key uuid, transaction_id text, payment_method text, description text,
    metadata jsonb, lease_ms bigint, recover_after_ms bigint)
), opened as (
  insert into journal_entries (
    merchant_id, id, payment_id, idempotency_key, operation, amount, amount_minor, currency,
    exponent, fingerprint_version, fingerprint, state, owner_token, lease_until, psp,
    psp_idempotency_key, next_check_at, sent_at, created_at)
  select
    a.merchant_id, a.entry_id, a.payment_id, a.idempotency_key, a.operation, a.amount,
    a.amount_minor, a.currency, a.exponent, a.fingerprint_version, a.fingerprint, 'SENDING',
    a.owner_token, clock_timestamp() + a.lease_ms * interval '1 ms', a.psp, a.psp_idempotency_key,
    clock_timestamp() + a.recover_after_ms * interval '1 ms', clock_timestamp(), now()
  from asked a
  where a.transaction_id is null or (
    select true from payments p
    where p.merchant_id = a.merchant_id and p.transaction_id = a.transaction_id
      and not (p.status in (${FREE})) limit 1) is null
  order by a.merchant_id, a.idempotency_key
  on conflict do nothing
  returning id
), paid as (
  insert into payments (
    merchant_id, id, transaction_id, amount_minor, currency, status, payment_method, description,
    metadata, created_at, updated_at)
  select
    a.merchant_id, a.payment_id, a.transaction_id, a.amount_minor, a.currency, 'PROCESSING',
    a.payment_method, a.description, a.metadata, now(), now()
  from asked a
  where (a.entry_id in (select id from opened)) is true
  returning id, created_at, metadata
)
select id as payment_id, created_at, metadata from paid`;

/** What stands under each (merchant, key), with the payment. */
export const READ_BY_KEY = `
select ${ENTRY_COLUMNS}, ${PAYMENT_COLUMNS}
from json_to_recordset($1::text::json) as r(merchant_id uuid, idempotency_key text)
join journal_entries e using (merchant_id, idempotency_key)
join payments p on p.merchant_id = e.merchant_id and p.id = e.payment_id`;

/** The live payment under a transaction id. */
export const READ_LIVE_BY_TRANSACTION_ID = `
select p.id as payment_id from payments p
where p.merchant_id = $1::uuid and p.transaction_id = $2::text and not (p.status in (${FREE}))`;

/** T1 again, after a proof that nothing was sent. */
export const REOPEN = `
with asked as (
  select * from json_to_recordset($1::text::json) as r(
    merchant_id uuid, entry_id uuid, attempt integer, owner_token uuid, lease_ms bigint,
    recover_after_ms bigint)
), free as (
  select e.id, a.* from asked a
  join journal_entries e on e.merchant_id = a.merchant_id and e.id = a.entry_id
  where e.attempt = a.attempt and e.state = 'FAILED' and e.outcome_source = 'NOT_SENT'
  order by e.merchant_id, e.id
  for update of e
), again as (
  update journal_entries e
  set state = 'SENDING', attempt = e.attempt + 1, owner_token = f.owner_token,
      outcome_source = null, reason = null, settled_at = null, checks = 0,
      sent_at = clock_timestamp(), lease_until = clock_timestamp() + f.lease_ms * interval '1 ms',
      next_check_at = clock_timestamp() + f.recover_after_ms * interval '1 ms'
  from free f
  where e.merchant_id = f.merchant_id and e.id = f.id
  returning e.merchant_id, e.payment_id
)
update payments p
set status = 'PROCESSING', version = p.version + 1, updated_at = clock_timestamp()
from again a where p.merchant_id = a.merchant_id and p.id = a.payment_id`;
