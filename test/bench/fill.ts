import postgres, { type Sql } from 'postgres';

/**
 * Fills the tables with payments as the product would leave them, by SQL alone. It is done as the owner
 * of the tables with `session_replication_role = replica`: no trigger and no foreign key looks at the
 * rows, every CHECK and UNIQUE does. Ids follow time as the product's do; keys are random, as clients
 * make them. 2 in 100 were declined, 1 in 1,000 is still in doubt, the others are captured.
 */
const STEP_MS = 100;
/** One payment of so many is in doubt. */
export const DOUBTED_OF = 1_000;
const MOST_AT_ONCE = 50_000;

const idOf = (kind: string) =>
  `(lpad(to_hex($2::bigint + n * ${STEP_MS}), 12, '0') || '7' || left(md5('${kind}' || n), 3) || 'a' ||
    right(md5('${kind}' || n), 15))::uuid`;
const STATE = `case when n % 50 = 7 then 'DECLINED' when n % ${DOUBTED_OF} = 3 then 'UNKNOWN' else 'SUCCEEDED' end`;

/** One statement: all tables, from the same rows. */
const FILL = `
with rows as (
  select n, ${idOf('payment')} as payment_id, ${idOf('entry')} as entry_id, ${idOf('event')} as event_id,
    md5('key' || n)::uuid as key, 100 + n * 7919 % 100000 as amount, ${STATE} as state,
    case when n % 5 = 0 then 'USD' else 'EUR' end as currency,
    to_timestamp(($2::bigint + n * ${STEP_MS}) / 1000.0) as made
  from generate_series($3::bigint, $4::bigint) as n
), paid as (
  insert into payments (merchant_id, id, transaction_id, amount_minor, currency, status,
    authorized_minor, captured_minor, psp, psp_reference, payment_method, metadata, version, created_at,
    updated_at)
  select $1::uuid, payment_id, 'order-' || n, amount, currency,
    case state when 'SUCCEEDED' then 'CAPTURED' else state end,
    case state when 'SUCCEEDED' then amount else 0 end,
    case state when 'SUCCEEDED' then amount else 0 end,
    'simulator', case state when 'SUCCEEDED' then 'ch_' || n end, 'pm_ok',
    jsonb_build_object('order', n), 2, made, made
  from rows
), opened as (
  insert into journal_entries (merchant_id, id, payment_id, idempotency_key, operation, amount,
    amount_minor, currency, exponent, fingerprint_version, fingerprint, state, owner_token, lease_until,
    psp, psp_idempotency_key, psp_reference, outcome_source, decline_code, soft_decline, next_check_at,
    sent_at, settled_at, created_at)
  select $1::uuid, entry_id, payment_id, key, 'CHARGE', amount / 100.0, amount, currency, 2, 1,
    decode(md5('print' || n) || md5('more' || n), 'hex'), state, key, made, 'simulator',
    md5('psp' || n)::uuid, case state when 'SUCCEEDED' then 'ch_' || n end,
    case state when 'UNKNOWN' then null else 'SYNC' end,
    case state when 'DECLINED' then 'do_not_honor' end, case state when 'DECLINED' then false end,
    case state when 'UNKNOWN' then now() + interval '30 days' end, made,
    case state when 'UNKNOWN' then null else made end, made
  from rows
), posted as (
  insert into postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency, created_at)
  select $1::uuid, entry_id, leg, account, direction, amount, currency, made
  from rows cross join (values (1, 'psp_clearing', 'DEBIT'), (2, 'merchant_payable', 'CREDIT'))
    as l(leg, account, direction)
  where state = 'SUCCEEDED'
), noted as (
  insert into outbox_events (merchant_id, id, payment_id, entry_id, type, payment_version, created_at)
  select $1::uuid, event_id, payment_id, entry_id, 'charge.' || lower(state), 2, made from rows
)
insert into outbox_positions (merchant_id, position, event_id)
select $1::uuid, n, event_id from rows`;

/** The key that payment `n` was made with. */
export const KEY_OF = `select md5('key' || n)::uuid::text as key from unnest($1::bigint[]) as n`;

/** Two of them keep two cores busy. */
const FILLERS = 2;

/** @param databaseUrl of a database that has the tables, with nothing in them */
export async function fill(
  databaseUrl: string,
  { merchantId, rows }: { readonly merchantId: string; readonly rows: number },
  say: (line: string) => void,
): Promise<void> {
  // The last of them must lie in the past, too.
  const beginsAt = Date.now() - (rows + 1_000) * STEP_MS;
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const again = await dropIndexes(sql);
  let next = 1;
  const filler = async () => {
    const own = postgres(databaseUrl, { max: 1 });
    await own`set session_replication_role = replica`;
    await own`set synchronous_commit = off`;
    while (next <= rows) {
      const first = next;
      const last = Math.min(rows, first + MOST_AT_ONCE - 1);
      next = last + 1;
      await own.unsafe(FILL, [merchantId, beginsAt, first, last]);
      say(`filled ${last} of ${rows}`);
    }
    await own.end();
  };
  await Promise.all(Array.from({ length: FILLERS }, filler));
  // As the steps that gave those positions would have left it.
  await sql`update outbox_mark set numbered_below = pg_snapshot_xmin(pg_current_snapshot())`;
  await sql`set maintenance_work_mem = '512MB'`;
  for (const index of again) {
    say(`index ${index.name}`);
    await sql.unsafe(index.definition);
  }
  say('vacuum, analyze, checkpoint');
  await sql.unsafe('vacuum (analyze)');
  await sql.unsafe('checkpoint');
  await sql.end();
}

/** Those that are no constraint are made when all rows are there, which is quicker. */
async function dropIndexes(sql: Sql) {
  const indexes = await sql<{ name: string; definition: string }[]>`
    select indexname as name, indexdef as definition from pg_indexes
    where schemaname = 'public' and indexname not in (select conname from pg_constraint)`;
  for (const { name } of indexes) await sql`drop index ${sql(name)}`;
  return indexes;
}
