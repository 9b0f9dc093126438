import { PING } from '../webhooks/index.ts';
import { DELIVERY_COLUMNS, ENDPOINT_COLUMNS, IS_LIVE } from './webhook-rows.ts';

/** What a merchant may have, and how many secrets may sign at once. */
export const MOST_ENDPOINTS = 16;
export const MOST_SECRETS = 5;

/** A list as JSON, or null, of the row aliased `a`. */
const TYPES = `
case when json_typeof(a.event_types) = 'array'
  then array(select json_array_elements_text(a.event_types)) end`;

/** Only what happens from now on is sent: an endpoint begins at the end of its merchant's line. */
export const CREATE = `
with a as (
  select * from json_to_record($1::text::json) as r(merchant_id uuid, id uuid, url text,
    description text, event_types json, secret_id uuid, sealed text)
), made as (
  insert into webhook_endpoints (merchant_id, id, url, description, event_types, position)
  select a.merchant_id, a.id, a.url, a.description, ${TYPES}, coalesce((
    select p.position from outbox_positions p where p.merchant_id = a.merchant_id
    order by p.position desc limit 1), 0)
  from a
  where (select count(*) from webhook_endpoints e
    where e.merchant_id = a.merchant_id and e.deleted_at is null) < ${MOST_ENDPOINTS}
  on conflict (merchant_id, url) where deleted_at is null do nothing
  returning *
), kept as (
  insert into webhook_secrets (merchant_id, id, endpoint_id, sealed)
  select m.merchant_id, a.secret_id, m.id, decode(a.sealed, 'hex') from made m cross join a
)
select ${ENDPOINT_COLUMNS} from made e`;

export const BY_URL = `
select ${ENDPOINT_COLUMNS} from webhook_endpoints e
where e.merchant_id = $1::uuid and e.url = $2 and e.deleted_at is null`;

/** Switched on, it begins anew: what waits is due, and nothing counts against it. */
export const CHANGE = `
with a as (
  select * from json_to_record($1::text::json) as r(merchant_id uuid, id uuid, url text,
    description text, has_description boolean, event_types json, has_event_types boolean,
    enabled boolean)
), changed as (
  update webhook_endpoints e set
    url = coalesce(a.url, e.url),
    description = case when a.has_description then a.description else e.description end,
    event_types = case when a.has_event_types then ${TYPES} else e.event_types end,
    disabled_reason = case when a.enabled then null when not a.enabled
      then coalesce(e.disabled_reason, 'BY_MERCHANT') else e.disabled_reason end,
    disabled_at = case when a.enabled then null when not a.enabled
      then coalesce(e.disabled_at, clock_timestamp()) else e.disabled_at end,
    failures = case when a.enabled then 0 else e.failures end,
    failing_since = case when a.enabled then null else e.failing_since end,
    resume_at = case when a.enabled then null else e.resume_at end,
    updated_at = clock_timestamp()
  from a where e.merchant_id = (select a.merchant_id from a) and e.id = (select a.id from a)
    and e.deleted_at is null
  returning e.*
), due as (
  update webhook_deliveries d set next_attempt_at = clock_timestamp(), tries = 0, failing_since = null
  from changed c cross join a
  where a.enabled and d.merchant_id = c.merchant_id and d.endpoint_id = c.id and d.status = 'PENDING'
), woken as (
  select semel_wake_endpoint(e.merchant_id, e.id, now()) from changed e cross join a
  where a.enabled
)
select ${ENDPOINT_COLUMNS}, (select count(*) from woken) as woken from changed e`;

/** What it was signed with is forgotten at once. */
export const REMOVE = `
with gone as (
  update webhook_endpoints e set deleted_at = coalesce(e.deleted_at, clock_timestamp())
  where e.merchant_id = $1::uuid and e.id = $2::uuid
  returning e.merchant_id, e.id
), wiped as (
  update webhook_secrets s set sealed = null, expires_at = least(s.expires_at, clock_timestamp())
  from gone g where s.merchant_id = g.merchant_id and s.endpoint_id = g.id and s.sealed is not null
)
select id from gone`;

/** An overlap of 0 ends all that were there before, at once. */
export const ROTATE = `
with a as (
  select * from json_to_record($1::text::json) as r(merchant_id uuid, id uuid, secret_id uuid,
    sealed text, overlap_ms float8)
), target as (
  select e.* from webhook_endpoints e
  where e.merchant_id = (select a.merchant_id from a) and e.id = (select a.id from a)
    and e.deleted_at is null
  for update of e
), fits as (
  select a.overlap_ms = 0 or count(s.id) < ${MOST_SECRETS} as fit
  from a left join webhook_secrets s on s.merchant_id = a.merchant_id and s.endpoint_id = a.id
    and s.id <> a.secret_id and (s.expires_at is null or s.expires_at > clock_timestamp())
  group by a.overlap_ms
), old as (
  update webhook_secrets s set expires_at = clock_timestamp() + a.overlap_ms * interval '1 millisecond',
    sealed = case when a.overlap_ms = 0 then null else s.sealed end
  from target t cross join a cross join fits f
  where s.merchant_id = t.merchant_id and s.endpoint_id = t.id and s.id <> a.secret_id and f.fit
    and (s.expires_at is null or a.overlap_ms = 0 and s.expires_at > clock_timestamp())
  returning s.expires_at
), wiped as (
  update webhook_secrets s set sealed = null from target t
  where s.merchant_id = t.merchant_id and s.endpoint_id = t.id and s.sealed is not null
    and s.expires_at <= clock_timestamp()
), made as (
  insert into webhook_secrets (merchant_id, id, endpoint_id, sealed)
  select t.merchant_id, a.secret_id, t.id, decode(a.sealed, 'hex')
  from target t cross join a cross join fits f where f.fit
  on conflict (merchant_id, id) do nothing
)
select ${ENDPOINT_COLUMNS}, f.fit, (select max(expires_at) from old) as previous_until
from target e cross join fits f`;

export const BY_IDS = `
select ${ENDPOINT_COLUMNS}
from json_array_elements_text($2::text::json) as r(id)
join webhook_endpoints e on e.merchant_id = $1::uuid and e.id = r.id::uuid and e.deleted_at is null`;

/** Wakes the endpoint of each delivery of `d`, and ends its pause: somebody has asked for it. */
const AT_ONCE = `
unpaused as (
  update webhook_endpoints e set resume_at = null from d
  where e.merchant_id = d.merchant_id and e.id = d.endpoint_id
), woken as (
  select semel_wake_endpoint(d.merchant_id, d.endpoint_id, now()) from d
)
select ${DELIVERY_COLUMNS}, (select count(*) from woken) as woken from d`;

export const PING_AT_ONCE = `
with d as (
  insert into webhook_deliveries (merchant_id, endpoint_id, id, type)
  select e.merchant_id, e.id, $3::uuid, '${PING}' from webhook_endpoints e
  where e.merchant_id = $1::uuid and e.id = $2::uuid and ${IS_LIVE}
  on conflict (merchant_id, endpoint_id, id) do update set next_attempt_at = excluded.next_attempt_at
  returning *
), ${AT_ONCE}`;

export const REDELIVER = `
with d as (
  update webhook_deliveries d set status = 'PENDING', tries = 0, failing_since = null,
    next_attempt_at = clock_timestamp()
  from webhook_endpoints e
  where d.merchant_id = $1::uuid and d.endpoint_id = $2::uuid and d.id = $3::uuid
    and e.merchant_id = d.merchant_id and e.id = d.endpoint_id and ${IS_LIVE}
  returning d.*
), ${AT_ONCE}`;
