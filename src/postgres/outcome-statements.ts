import { isFirst, OPERATIONS } from '../payments/index.ts';
import { ENTRY_COLUMNS, PAYMENT_COLUMNS } from './rows.ts';

/** T2 and the taking over of what has none; as `statements.ts` says, none joins two long lists. */

/** The operations that a payment begins with, as SQL has a list. */
export const FIRST = OPERATIONS.filter(isFirst)
  .map((operation) => `'${operation}'`)
  .join(', ');

/**
 * What is posted when money moves. A refund without an outcome leaves what the merchant is owed at
 * once, and comes from the PSP, or back, when it is known; each is an entry's own further legs. What a
 * PSP took too late waits in the same place until it is given back.
 */
export const LEGS = [
  ['taken', 1, 'psp_clearing', 'merchant_payable'],
  ['late', 1, 'psp_clearing', 'refunds_in_doubt'],
  ['refunded', 1, 'merchant_payable', 'psp_clearing'],
  ['doubted', 1, 'merchant_payable', 'refunds_in_doubt'],
  ['found', 3, 'refunds_in_doubt', 'psp_clearing'],
  ['not found', 3, 'refunds_in_doubt', 'merchant_payable'],
]
  .map(
    ([flow, leg, debit, credit]) =>
      `('${flow}', ${leg}, '${debit}', 'DEBIT'), ('${flow}', ${Number(leg) + 1}, '${credit}', 'CREDIT')`,
  )
  .join(', ');

/**
 * Read by payment and by nothing else (`offset 0` keeps it apart): the index of what is open is short
 * in a quiet hour, and a plan made then would read all of it for each payment when much is waiting.
 */
const ENTRIES_OF = (merchantId: string, paymentId: string): string => `
  select x.merchant_id, x.id, x.operation, x.state, x.next_check_at from journal_entries x
  where x.merchant_id = ${merchantId} and x.payment_id = ${paymentId} offset 0`;

/** Which entry `e` moves by what is told of it, `t`. */
const AS_TOLD = `e.merchant_id = t.merchant_id and e.id = t.entry_id and e.attempt = t.attempt
    and e.owner_token = t.owner_token and e.state = t.from_state
    and not (t.state = 'SUCCEEDED' and exists (
      select 1 from journal_entries o
      where o.merchant_id = t.merchant_id and o.psp_reference = t.psp_reference
        and o.payment_id <> e.payment_id))`;

/** What is told, one row for each entry. */
const TOLD = `json_to_recordset($1::text::json) as t(
    merchant_id uuid, entry_id uuid, attempt integer, owner_token uuid, from_state text,
    state text, outcome_source text, psp_reference text, decline_code text, soft_decline boolean,
    reason text, next_check_ms bigint, next_action_url text, authorized_until timestamptz,
    payment_status text, event_id uuid)`;

/**
 * T2. A row comes back for each entry that moved; for others the conclusion is kept as evidence. A
 * success does not move an entry if the PSP's reference is that of another payment already. What
 * was not sent is no event, since nobody sees such a payment.
 */
const settle = (told: string, more = '') => `
with told as (
  ${told}
), moved as (
  update journal_entries e
  set state = t.state, outcome_source = t.outcome_source, reason = t.reason,
      psp_reference = coalesce(e.psp_reference, t.psp_reference), decline_code = t.decline_code,
      soft_decline = t.soft_decline, lease_until = clock_timestamp(),
      next_check_at = clock_timestamp() + t.next_check_ms * interval '1 ms',
      settled_at = case when t.state in ('SUCCEEDED', 'DECLINED', 'FAILED')
        then clock_timestamp() end
  from told t
  where ${AS_TOLD}
  returning e.merchant_id, e.id, e.payment_id, e.operation, e.amount_minor, e.currency, e.state,
    e.psp, e.psp_reference, e.next_check_at, e.settled_at, t.payment_status, t.event_id,
    t.next_action_url, t.authorized_until, e.outcome_source,
    t.from_state <> t.state or t.from_state = 'UNKNOWN' and t.payment_status <> (
      select p.status from payments p where p.merchant_id = e.merchant_id and p.id = e.payment_id)
      as changed,
    e.settled_at is not null as ended,
    case when e.operation in (${FIRST}) and e.state = 'SUCCEEDED' then e.amount_minor else 0 end
      as authorized,
    case when e.operation in ('CHARGE', 'CAPTURE') and e.state = 'SUCCEEDED'
      then e.amount_minor else 0 end as captured,
    case when e.operation = 'CAPTURE' and e.settled_at is not null then e.amount_minor else 0 end
      as capture_ended,
    case when e.operation = 'REFUND' and e.state = 'SUCCEEDED' then e.amount_minor else 0 end
      as refunded,
    case when e.operation = 'REFUND' and e.settled_at is not null then e.amount_minor else 0 end
      as refund_ended,
    case
      when e.operation in ('CHARGE', 'CAPTURE') and e.state = 'SUCCEEDED' then 'taken'
      when e.operation = 'REFUND' and t.from_state = 'SENDING' then
        case when e.state = 'SUCCEEDED' then 'refunded'
          when e.state in ('UNKNOWN', 'PENDING') then 'doubted' end
      when e.operation = 'REFUND' and e.settled_at is not null then
        case when e.state = 'SUCCEEDED' then 'found' else 'not found' end
      when e.operation = 'REVERSE' and e.request ->> 'operation' = 'CHARGE'
        and e.settled_at is not null then
        case when e.state = 'SUCCEEDED' then 'found' else 'not found' end
    end as flow
), paid as (
  update payments p
  set status = case
        when m.payment_status is not null then m.payment_status
        when m.operation = 'VOID' and m.state = 'SUCCEEDED' then 'VOIDED'
        when m.operation = 'CONFIRM' or m.captured + p.captured_minor = 0 then p.status
        when m.refunded + p.refunded_minor = 0 then
          case when m.captured + p.captured_minor < p.authorized_minor
            then 'PARTIALLY_CAPTURED' else 'CAPTURED' end
        when m.refunded + p.refunded_minor = m.captured + p.captured_minor
          and p.capture_reserved_minor = m.capture_ended then 'REFUNDED'
        else 'PARTIALLY_REFUNDED' end,
      version = p.version + case when m.changed then 1 else 0 end,
      updated_at = clock_timestamp(),
      next_check_at = case
        when m.next_check_at is not null or m.payment_status is not null then m.next_check_at
        else (select min(o.next_check_at) from (${ENTRIES_OF('p.merchant_id', 'p.id')}) o
          where o.id <> m.id and o.state in ('UNKNOWN', 'PENDING')) end,
      authorized_minor = p.authorized_minor + m.authorized,
      captured_minor = p.captured_minor + m.captured,
      capture_reserved_minor = p.capture_reserved_minor - m.capture_ended,
      refunded_minor = p.refunded_minor + m.refunded,
      refund_reserved_minor = p.refund_reserved_minor - m.refund_ended,
      void_reserved = p.void_reserved and not (m.operation = 'VOID' and m.ended),
      psp = coalesce(p.psp, m.psp),
      psp_reference = case when m.payment_status is null then p.psp_reference
        else coalesce(p.psp_reference, m.psp_reference) end,
      next_action_url = case when m.payment_status is null then p.next_action_url
        else m.next_action_url end,
      authorized_until = case when m.payment_status is null then p.authorized_until
        else coalesce(m.authorized_until, p.authorized_until) end
  from moved m
  where p.merchant_id = m.merchant_id and p.id = m.payment_id
  returning m.merchant_id, m.id, m.payment_id, m.operation, m.state, m.event_id, m.changed,
    m.outcome_source, m.psp_reference, m.next_check_at, m.settled_at,
    m.payment_status = 'REQUIRES_ACTION' as waits, p.status, p.version, p.updated_at,
    p.authorized_minor, p.captured_minor,
    p.capture_reserved_minor, p.refunded_minor, p.refund_reserved_minor, p.void_reserved,
    p.psp_reference as payment_psp_reference, p.next_check_at as payment_next_check_at,
    p.authorized_until, p.next_action_url
), hurried as (
  update journal_entries c set next_check_at = clock_timestamp(), checks = 0
  from moved m cross join lateral (${ENTRIES_OF('m.merchant_id', 'm.payment_id')}) o
  where m.operation = 'CONFIRM' and m.ended and o.operation in (${FIRST})
    and o.state in ('UNKNOWN', 'PENDING') and c.merchant_id = o.merchant_id and c.id = o.id
), posted as (
  insert into postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency)
  select m.merchant_id, m.id, l.leg, l.account, l.direction, m.amount_minor, m.currency
  from moved m join (values ${LEGS}) as l(flow, leg, account, direction) on l.flow = m.flow
), noted as (
  insert into outbox_events (merchant_id, id, payment_id, entry_id, type, payment_version)
  select merchant_id, event_id, payment_id, id,
    lower(operation || '.' || case when waits then 'PENDING' else state end), version
  from paid where changed and outcome_source is distinct from 'NOT_SENT'
), kept as (
  insert into psp_observations
    (merchant_id, id, entry_id, attempt, state, outcome_source, psp_reference, reason)
  select t.merchant_id, t.event_id, t.entry_id, t.attempt, t.state, t.outcome_source,
    t.psp_reference, t.reason
  from told t
  where t.state <> 'UNKNOWN' and t.outcome_source <> 'NOT_SENT'
    and t.event_id not in (select event_id from moved)
    and not exists (
      select 1 from journal_entries e
      where e.merchant_id = t.merchant_id and e.id = t.entry_id and e.attempt = t.attempt
        and e.owner_token = t.owner_token and e.state = t.state)
  on conflict do nothing
)${more}
select event_id, state, psp_reference, next_check_at, settled_at, status, version, updated_at,
  authorized_minor, captured_minor, capture_reserved_minor, refunded_minor, refund_reserved_minor,
  void_reserved, payment_psp_reference, payment_next_check_at, authorized_until, next_action_url
from paid`;

export const SETTLE = settle(`select * from ${TOLD}`);

/**
 * T2 of one entry by the word of an event, and the event, in one commit: `more` is what keeps it. The
 * entry is locked first, so that either all of it happens or, if the entry has moved on, nothing.
 */
export const settleWith = (more: string): string =>
  settle(`select t.* from ${TOLD} join journal_entries e on ${AS_TOLD} for update of e`, more);

/** RFC 9562 §5.7, for rows that only the statement itself knows of: a v4 with the time put in. */
const UUID_V7 = `encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid()) placing
    substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
    from 1 for 6), 52, 1), 53, 1), 'hex')::uuid`;

const takeOver = (which: string) => `
with due as (
  select merchant_id, id, state as from_state from journal_entries
  where next_check_at <= clock_timestamp() and psp = $4::text and ${which}
  order by next_check_at limit $1::integer
  for update skip locked
), taken as (
  update journal_entries e
  set attempt = e.attempt + 1, owner_token = $2::uuid, checks = e.checks + 1,
      state = case e.state when 'SENDING' then 'UNKNOWN' else e.state end,
      lease_until = clock_timestamp() + $3::float8 * interval '1 ms',
      next_check_at = clock_timestamp() + $3::float8 * interval '1 ms'
  from due d
  where e.merchant_id = d.merchant_id and e.id = d.id
  returning e.*, d.from_state
), moved as (
  select merchant_id, payment_id, count(*)::integer as entries,
    bool_or(operation in (${FIRST})) as is_first
  from taken where from_state = 'SENDING' group by merchant_id, payment_id
), paid as (
  update payments p
  set status = case when m.is_first then 'UNKNOWN' else p.status end,
      version = p.version + m.entries, updated_at = clock_timestamp()
  from moved m
  where p.merchant_id = m.merchant_id and p.id = m.payment_id
  returning p.merchant_id, p.id, p.version - m.entries as version_before
), noted as (
  insert into outbox_events (merchant_id, id, payment_id, entry_id, type, payment_version)
  select t.merchant_id, ${UUID_V7}, t.payment_id, t.id, lower(t.operation || '.unknown'),
    n.version_before + row_number() over (partition by t.merchant_id, t.payment_id order by t.id)
  from taken t join paid n on n.merchant_id = t.merchant_id and n.id = t.payment_id
  where t.from_state = 'SENDING'
), posted as (
  insert into postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency)
  select t.merchant_id, t.id, l.leg, l.account, l.direction, t.amount_minor, t.currency
  from taken t join (values ${LEGS}) as l(flow, leg, account, direction) on l.flow = 'doubted'
  where t.from_state = 'SENDING' and t.operation = 'REFUND'
)
select ${ENTRY_COLUMNS}, ${PAYMENT_COLUMNS}, e.checks,
  (extract(epoch from clock_timestamp() - e.sent_at) * 1000)::bigint as age_ms
from taken e join payments p on p.merchant_id = e.merchant_id and p.id = e.payment_id`;

/** Entries of one PSP that are due, each to one recoverer: attempt + 1 and a new owner. */
export const TAKE_OVER = takeOver(`state in ('SENDING', 'UNKNOWN', 'PENDING')`);

/** The same for the first entry of one payment, once it has been sent. */
export const TAKE_OVER_FIRST = takeOver(
  `state in ('UNKNOWN', 'PENDING') and operation in (${FIRST}) and merchant_id = $5::uuid
    and payment_id = $6::uuid`,
);
