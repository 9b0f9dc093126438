import { IS_LIVE } from './webhook-rows.ts';

/** So many deliveries of one endpoint may wait; the rest stay events until there is room. */
const MOST_PENDING = 500;

const HAS_ROOM = `
(select count(*) from (select from webhook_deliveries d
  where d.merchant_id = e.merchant_id and d.endpoint_id = e.id and d.status = 'PENDING'
  limit ${MOST_PENDING}) w) < ${MOST_PENDING}`;

/** The merchant's line reaches further than the endpoint has come. */
const HAS_NEWS = `
(e.position < (select p.position from outbox_positions p where p.merchant_id = e.merchant_id
  order by p.position desc limit 1) and ${HAS_ROOM})`;

const IS_FREE = '(e.lease_until is null or e.lease_until < clock_timestamp())';
const IS_RESUMED = '(e.resume_at is null or e.resume_at <= clock_timestamp())';

/**
 * A plan made while the tables are empty must not read all rows, or all of a merchant, later: so they
 * are not joined, and asked for in the order of the one index that has their ids.
 */
const one = (row: string, merchantId: string, id: string) =>
  `${row}.merchant_id = ${merchantId} and ${row}.id >= ${id} and ${row}.id <= ${id}
    order by ${row}.id limit 1`;

export const CLAIM = `
with e as (
  update webhook_endpoints e set lease_token = $3::uuid,
    lease_until = clock_timestamp() + $4::float8 * interval '1 millisecond'
  where e.merchant_id = $1::uuid and e.id = $2::uuid and ${IS_LIVE} and ${IS_RESUMED}
    and (${IS_FREE} or e.lease_token = $3::uuid)
  returning e.*
)
select e.merchant_id, e.id, e.url, e.failures, (
  select json_agg(json_build_object('id', s.id, 'sealed', encode(s.sealed, 'hex')) order by s.id desc)
  from webhook_secrets s
  where s.merchant_id = e.merchant_id and s.endpoint_id = e.id and s.sealed is not null
    and (s.expires_at is null or s.expires_at > clock_timestamp())) as secrets
from e`;

/** Deliveries are made in the commit that moves the endpoint on: none is lost, none is made twice. */
export const FILL = `
with e as (
  select e.* from webhook_endpoints e
  where e.merchant_id = $1::uuid and e.id = $2::uuid and e.lease_token = $3::uuid
), next as (
  select p.position, o.id, o.type from e
  cross join lateral (
    select p.position, p.event_id from outbox_positions p
    where p.merchant_id = e.merchant_id and p.position > e.position
    order by p.position limit $4::integer) p
  cross join lateral (
    select o.id, o.type from outbox_events o
    where ${one('o', 'e.merchant_id', 'p.event_id')}) o
  where ${HAS_ROOM}
), moved as (
  update webhook_endpoints w set position = (select max(n.position) from next n)
  from e where w.merchant_id = e.merchant_id and w.id = e.id and w.position = e.position
    and w.lease_token = e.lease_token and exists (select from next)
  returning w.merchant_id, w.id, w.event_types, clock_timestamp() as at
)
insert into webhook_deliveries (merchant_id, endpoint_id, id, type, next_attempt_at)
select m.merchant_id, m.id, n.id, n.type, m.at from moved m cross join next n
where m.event_types is null or n.type = any(m.event_types)
  or split_part(n.type, '.', 1) || '.*' = any(m.event_types)
on conflict do nothing`;

/** Longest due first, and of what came due together the earlier event. */
export const DUE = `
select d.merchant_id, d.endpoint_id, d.id, d.type, d.attempts, d.tries, d.created_at,
  o.created_at as happened_at, o.payment_id, o.payment_version, o.entry_id, j.operation,
  j.amount_minor::float8 as amount_minor, j.currency, y.transaction_id
from (
  select d.*, (select p.position from outbox_positions p
    where p.merchant_id = d.merchant_id and p.event_id = d.id limit 1) as position
  from webhook_deliveries d
  where d.merchant_id = $1::uuid and d.endpoint_id = $2::uuid and d.status = 'PENDING'
    and d.next_attempt_at <= clock_timestamp()
  order by d.next_attempt_at, position limit $3::integer) d
left join lateral (
  select * from outbox_events o where ${one('o', 'd.merchant_id', 'd.id')}) o on true
left join lateral (
  select * from journal_entries j where ${one('j', 'd.merchant_id', 'o.entry_id')}) j on true
left join lateral (
  select * from payments y where ${one('y', 'd.merchant_id', 'o.payment_id')}) y on true
order by d.next_attempt_at, d.position`;

const IS_TAKEN = `a.result = 'DELIVERED'`;

/** A delivery was given up, and in all that time the endpoint has taken nothing at all. */
const DISABLES = `
(a.is_gone or m.status = 'FAILED' and coalesce(e.failing_since, now()) <= m.failing_since)`;

/** Whoever counts another number of attempts comes too late: somebody else has made this one. */
export const RECORD = `
with a as (
  select * from json_to_record($1::text::json) as r(merchant_id uuid, endpoint_id uuid, id uuid,
    attempts integer, attempt_id uuid, result text, http_status integer, duration_ms integer,
    response text, next_in_ms float8, pause_ms float8, is_gone boolean)
), m as (
  update webhook_deliveries d set attempts = d.attempts + 1, tries = d.tries + 1,
    status = case when ${IS_TAKEN} then 'DELIVERED' when a.next_in_ms is null then 'FAILED'
      else 'PENDING' end,
    delivered_at = case when ${IS_TAKEN} then clock_timestamp() else d.delivered_at end,
    failing_since = case when ${IS_TAKEN} then null else coalesce(d.failing_since, now()) end,
    next_attempt_at = case when a.next_in_ms is null then d.next_attempt_at
      else clock_timestamp() + a.next_in_ms * interval '1 millisecond' end
  from a where d.merchant_id = a.merchant_id and d.endpoint_id = a.endpoint_id and d.id = a.id
    and d.attempts = a.attempts and d.status = 'PENDING'
  returning d.*
), logged as (
  insert into webhook_attempts (merchant_id, id, endpoint_id, delivery_id, number, result,
    http_status, duration_ms, response)
  select m.merchant_id, a.attempt_id, m.endpoint_id, m.id, m.attempts, a.result, a.http_status,
    a.duration_ms, a.response
  from m cross join a
), health as (
  update webhook_endpoints e set
    failures = case when ${IS_TAKEN} then 0 else e.failures + 1 end,
    failing_since = case when ${IS_TAKEN} then null else coalesce(e.failing_since, now()) end,
    resume_at = case when ${IS_TAKEN} then null
      else clock_timestamp() + a.pause_ms * interval '1 millisecond' end,
    disabled_reason = coalesce(e.disabled_reason, case when ${DISABLES}
      then case when a.is_gone then 'GONE' else 'FAILING' end end),
    disabled_at = coalesce(e.disabled_at, case when ${DISABLES} then clock_timestamp() end)
  from m cross join a where e.merchant_id = m.merchant_id and e.id = m.endpoint_id
  returning e.disabled_reason
)
select h.disabled_reason from m left join health h on true`;

export const FREE = `
update webhook_endpoints e set lease_token = null, lease_until = null
where e.merchant_id = $1::uuid and e.id = $2::uuid and e.lease_token = $3::uuid`;

export const SCHEDULE = `
select semel_wake_endpoint(e.merchant_id, e.id, greatest(x.due, e.resume_at))
from webhook_endpoints e cross join lateral (
  select least((
    select d.next_attempt_at from webhook_deliveries d
    where d.merchant_id = e.merchant_id and d.endpoint_id = e.id and d.status = 'PENDING'
    order by d.next_attempt_at limit 1), case when ${HAS_NEWS} then now() end) as due) x
where e.merchant_id = $1::uuid and e.id = $2::uuid and ${IS_LIVE} and ${IS_FREE}
  and x.due is not null`;

/** What nobody has looked at for a while: a hint was lost, or whoever followed it has died. */
export const SWEEP = `
with e as (
  select e.* from webhook_endpoints e where ${IS_LIVE}
), woken as (
  select semel_wake_endpoint(e.merchant_id, e.id, now()) from (
    select e.* from e where ${IS_FREE} and ${IS_RESUMED} and (${HAS_NEWS} or exists (
      select from webhook_deliveries d
      where d.merchant_id = e.merchant_id and d.endpoint_id = e.id and d.status = 'PENDING'
        and d.next_attempt_at < clock_timestamp() - interval '2 seconds'))
    order by e.id limit 1000) e
)
select (select count(*) from e)::integer as live, (select count(*) from woken)::integer as woken`;
