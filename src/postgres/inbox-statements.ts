import { settleWith } from './outcome-statements.ts';
import { ENTRY_COLUMNS, PAYMENT_COLUMNS } from './rows.ts';

/**
 * Whether an event ($1 the PSP, $2 its id) is kept, and the entry that it is about: the one that has our
 * reference ($3), or its payment's entry of the operation that the event names ($4). $5 is the PSP's
 * own reference, which may be another payment's.
 */
export const FIND = `
select w.is_known, x.*
from (select exists (
  select 1 from inbound_webhooks where psp = $1::text and event_id = $2::text) as is_known) w
left join lateral (
  select ${ENTRY_COLUMNS}, ${PAYMENT_COLUMNS}, exists (
    select 1 from journal_entries o
    where o.merchant_id = e.merchant_id and o.psp_reference = $5::text
      and o.payment_id <> e.payment_id) as is_taken
  from journal_entries n
  join journal_entries e on e.merchant_id = n.merchant_id and e.payment_id = n.payment_id
    and (e.id = n.id or e.operation = $4::text and not (e.state in ('DECLINED', 'FAILED')))
  join payments p on p.merchant_id = e.merchant_id and p.id = e.payment_id
  where n.id = $3::uuid and n.psp = $1::text and e.psp = n.psp
  order by e.id = n.id limit 1
) x on true`;

/** What an event is kept as: a second one with its id fails the whole statement. */
const LETTER = `json_to_record($2::text::json) as l(
    psp text, event_id text, type text, reference text, payload_digest bytea, result text)`;
const COLUMNS = `psp, event_id, type, reference, payload_digest, result`;
const OBSERVED = `merchant_id, id, entry_id, attempt, state, outcome_source, psp_reference, reason`;

/** An event that gives an entry its outcome. A row comes back if it did. */
export const KEEP_AND_SETTLE = settleWith(`, letter as (
  insert into inbound_webhooks (${COLUMNS}, merchant_id, entry_id)
  select l.*, m.merchant_id, m.id from moved m cross join ${LETTER}
), observed as (
  insert into psp_observations (${OBSERVED})
  select t.merchant_id, t.event_id, t.entry_id, t.attempt, t.state, t.outcome_source,
    t.psp_reference, t.reason
  from moved m join told t on t.event_id = m.event_id
)`);

/**
 * An event that gives none. A row comes back if the entry still was in the state that it was read in.
 * What is said becomes an observation, and a hurried payment's doubtful entries become due; what the PSP
 * let go without our void is asked about as what may have expired.
 */
export const KEEP_AND_NOTE = `
with told as (
  select e.merchant_id, e.payment_id, t.entry_id, e.attempt, t.state, t.psp_reference, t.reason,
    t.observation_id, t.is_hurried, t.is_lapsed
  from json_to_record($1::text::json) as t(
    merchant_id uuid, entry_id uuid, from_state text, state text, psp_reference text, reason text,
    observation_id uuid, is_hurried boolean, is_lapsed boolean)
  join journal_entries e on e.merchant_id = t.merchant_id and e.id = t.entry_id
    and e.state = t.from_state
  for update of e
), letter as (
  insert into inbound_webhooks (${COLUMNS}, merchant_id, entry_id)
  select l.*, t.merchant_id, t.entry_id from told t cross join ${LETTER}
), observed as (
  insert into psp_observations (${OBSERVED})
  select merchant_id, observation_id, entry_id, attempt, state, 'WEBHOOK', psp_reference, reason
  from told where state is not null
), hurried as (
  update journal_entries e set next_check_at = clock_timestamp()
  from told t
  where t.is_hurried and e.merchant_id = t.merchant_id and e.payment_id = t.payment_id
    and e.state in ('UNKNOWN', 'PENDING') and e.lease_until <= clock_timestamp()
), lapsed as (
  update payments p set authorized_until = clock_timestamp()
  from told t
  where t.is_lapsed and p.merchant_id = t.merchant_id and p.id = t.payment_id
    and p.status = 'AUTHORIZED' and not p.void_reserved
    and p.captured_minor + p.capture_reserved_minor = 0
)
select entry_id from told`;

/** An event that is about nothing of ours. */
export const KEEP = `
insert into inbound_webhooks (${COLUMNS})
select l.* from ${LETTER.replace('$2', '$1')}`;
