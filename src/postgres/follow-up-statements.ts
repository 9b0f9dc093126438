import { ALLOWED_FROM, type FollowUpOperation } from '../payments/index.ts';
import { PAYMENT_COLUMNS } from './rows.ts';

/**
 * T1 of captures, voids and refunds. The payment's row is locked, asked whether it allows what is
 * wanted, and takes the reservation; only then the entry is written, all in one statement. A batch
 * holds one row for each payment, in the order of the payments, so that two statements never wait
 * for each other.
 */

const allows = (operation: FollowUpOperation) =>
  `p.status in (${ALLOWED_FROM[operation].map((status) => `'${status}'`).join(', ')})`;

const CAPTURABLE = 'p.authorized_minor - p.captured_minor - p.capture_reserved_minor';
const REFUNDABLE = 'p.captured_minor - p.refunded_minor - p.refund_reserved_minor';

/**
 * The same rule as `refusalOf` in the payments room, which says why it was not met. `upto` is the
 * amount of the entry and of those before it in the statement.
 */
const fits = (upto: string) => `case a.operation
      when 'CAPTURE' then ${allows('CAPTURE')} and not p.void_reserved
        and ${upto} <= ${CAPTURABLE}
      when 'VOID' then ${allows('VOID')} and not p.void_reserved
        and p.captured_minor + p.capture_reserved_minor = 0
      when 'REFUND' then ${allows('REFUND')} and ${upto} <= ${REFUNDABLE}
      when 'CONFIRM' then ${allows('CONFIRM')}
    end`;

const RESERVE = `
  update payments p
  set capture_reserved_minor = p.capture_reserved_minor
        + case when h.operation = 'CAPTURE' then h.amount else 0 end,
      refund_reserved_minor = p.refund_reserved_minor
        + case when h.operation = 'REFUND' then h.amount else 0 end,
      void_reserved = p.void_reserved or h.operation = 'VOID',
      version = p.version + 1, updated_at = clock_timestamp()`;

/**
 * Each row asked for is one payment and one operation, with entries that are alike; only an entry
 * that is alone may leave out its amount, expect a version or be a void. A row comes back for each
 * entry that was written. A key that another statement is just now writing fails the statement, since
 * a reservation must not stay without its entry.
 */
export const OPEN_FOLLOW_UP = `
with asked as (
  select * from json_to_recordset($1::text::json) as r(
    merchant_id uuid, payment_id uuid, operation text, psp text, least_minor bigint,
    expected_version integer, currency text, entries json)
), held as (
  select a.operation, a.psp as asked_psp, a.entries, ${PAYMENT_COLUMNS},
    case a.operation when 'CAPTURE' then ${CAPTURABLE} when 'VOID' then p.authorized_minor
      when 'CONFIRM' then p.amount_minor else ${REFUNDABLE} end as remaining,
    (select o.exponent from journal_entries o
      where o.merchant_id = p.merchant_id and o.payment_id = p.id limit 1) as exponent
  from asked a
  join payments p on p.merchant_id = a.merchant_id and p.id = a.payment_id
  where p.psp = a.psp and p.psp_reference is not null
    and (a.currency is null or p.currency = a.currency)
    and (a.expected_version is null or p.version = a.expected_version)
    and ${fits('a.least_minor')}
  order by p.merchant_id, p.id
  for update of p
), admitted as (
  select h.*, x.entry_id, x.idempotency_key, x.fingerprint_version, x.fingerprint, x.owner_token,
    x.psp_idempotency_key, x.request, x.lease_ms, x.recover_after_ms,
    coalesce(x.amount_minor, h.remaining) as amount
  from held h
  cross join lateral (
    select e.*, sum(e.amount_minor) over (order by e.entry_id) as upto
    from json_to_recordset(h.entries) as e(
      entry_id uuid, idempotency_key text, amount_minor bigint, fingerprint_version smallint,
      fingerprint bytea, owner_token uuid, psp_idempotency_key uuid, request jsonb,
      lease_ms bigint, recover_after_ms bigint)
    where (select true from journal_entries k
      where k.merchant_id = h.merchant_id and k.idempotency_key = e.idempotency_key limit 1) is null
      and (e.amount_minor is null or e.amount_minor <= h.remaining)
  ) x
  where x.upto is null or x.upto <= h.remaining
), reserved as (${RESERVE}
  from (select merchant_id, payment_id, operation, sum(amount) as amount
    from admitted group by merchant_id, payment_id, operation
    order by merchant_id, payment_id) h
  where p.merchant_id = h.merchant_id and p.id = h.payment_id
), opened as (
  insert into journal_entries (
    merchant_id, id, payment_id, idempotency_key, operation, amount, amount_minor, currency,
    exponent, fingerprint_version, fingerprint, state, owner_token, lease_until, psp,
    psp_idempotency_key, request, next_check_at, sent_at, created_at)
  select
    merchant_id, entry_id, payment_id, idempotency_key, operation,
    amount::numeric / (array[1, 10, 100, 1000, 10000])[exponent + 1], amount, currency, exponent,
    fingerprint_version, fingerprint, 'SENDING', owner_token,
    clock_timestamp() + lease_ms * interval '1 ms', asked_psp, psp_idempotency_key, request,
    clock_timestamp() + recover_after_ms * interval '1 ms', clock_timestamp(), now()
  from admitted
)
select *, now() as created_at from admitted`;

/** T1 again, after a proof that nothing was sent: reserves again, if there still is room. */
export const REOPEN_FOLLOW_UP = `
with asked as (
  select * from json_to_recordset($1::text::json) as r(
    merchant_id uuid, entry_id uuid, attempt integer, owner_token uuid, lease_ms bigint,
    recover_after_ms bigint)
), free as (
  select r.*, e.payment_id, e.operation, e.amount_minor from asked r
  join journal_entries e on e.merchant_id = r.merchant_id and e.id = r.entry_id
  where e.attempt = r.attempt and e.state = 'FAILED' and e.outcome_source = 'NOT_SENT'
  order by e.merchant_id, e.payment_id
  for update of e
), held as (
  select a.*, a.amount_minor as amount
  from free a
  join payments p on p.merchant_id = a.merchant_id and p.id = a.payment_id
  where ${fits('a.amount_minor')}
  order by p.merchant_id, p.id
  for update of p
), reserved as (${RESERVE}
  from held h
  where p.merchant_id = h.merchant_id and p.id = h.payment_id
  returning h.merchant_id, h.entry_id, h.owner_token, h.lease_ms, h.recover_after_ms
)
update journal_entries e
set state = 'SENDING', attempt = e.attempt + 1, owner_token = r.owner_token,
    outcome_source = null, reason = null, settled_at = null, checks = 0,
    sent_at = clock_timestamp(), lease_until = clock_timestamp() + r.lease_ms * interval '1 ms',
    next_check_at = clock_timestamp() + r.recover_after_ms * interval '1 ms'
from reserved r
where e.merchant_id = r.merchant_id and e.id = r.entry_id`;

/** The payments as they stand, for saying why T1 was not written. */
export const READ_PAYMENTS = `
select ${PAYMENT_COLUMNS}
from json_to_recordset($1::text::json) as r(merchant_id uuid, payment_id uuid)
join payments p on p.merchant_id = r.merchant_id and p.id = r.payment_id
where p.status <> 'NOT_SENT'`;
