import type { Sql } from 'postgres';
import type { TestSimulator } from '../../support/with-simulator.ts';
import type { History } from './client.ts';
import type {
  EntryRecord,
  Event,
  Evidence,
  OutboxRecord,
  PaymentRecord,
  PostingRecord,
} from './records.ts';
import { openSql, type World } from './world.ts';

const OPEN = `state in ('SENDING', 'UNKNOWN', 'PENDING')`;

/** How many entries have no outcome. What met many faults is asked about at once, not after minutes. */
export async function openEntries(world: World): Promise<number> {
  const sql = openSql(world);
  try {
    await sql.unsafe(`update journal_entries set next_check_at = clock_timestamp()
      where state in ('UNKNOWN', 'PENDING') and lease_until <= clock_timestamp()`);
    const [row] = await sql.unsafe(
      `select count(*)::int as open from journal_entries where ${OPEN}`,
    );
    return Number(row?.['open']);
  } finally {
    await sql.end();
  }
}

/** The clients' history, the PSP's books, and what the database holds. */
export async function gather(
  world: World,
  { events }: History,
  healedAt: number,
): Promise<Evidence> {
  const sql = openSql(world);
  try {
    return await gatherFrom(sql, world.simulator, events, healedAt);
  } finally {
    await sql.end();
  }
}

/** The same of any database and PSP. */
export async function gatherFrom(
  sql: Sql,
  simulator: Pick<TestSimulator, 'executions' | 'requests'>,
  events: readonly Event[],
  healedAt: number,
): Promise<Evidence> {
  const rows = async <T>(text: string) => (await sql.unsafe(text)) as unknown as readonly T[];
  return {
    events,
    healedAt,
    entries: await rows<EntryRecord>(`
        select id, merchant_id as "merchantId", payment_id as "paymentId", idempotency_key as key,
          operation, amount_minor::float8 as "amountMinor", currency, state,
          outcome_source as source, reason, decline_code as "declineCode", attempt,
          psp_idempotency_key as "pspKey", extract(epoch from created_at)::float8 * 1000 as "createdAt",
          extract(epoch from settled_at)::float8 * 1000 as "settledAt"
        from journal_entries`),
    payments: await rows<PaymentRecord>(`
        select id, merchant_id as "merchantId", transaction_id as "transactionId",
          amount_minor::float8 as "amountMinor", currency, status,
          authorized_minor::float8 as "authorizedMinor", captured_minor::float8 as "capturedMinor",
          refunded_minor::float8 as "refundedMinor", (capture_reserved_minor
            + refund_reserved_minor + void_reserved::int)::float8 as "reservedMinor"
        from payments`),
    postings: await rows<PostingRecord>(`
        select entry_id as "entryId", account, currency,
          (case direction when 'DEBIT' then amount_minor else -amount_minor end)::float8 as "signedMinor"
        from postings`),
    outbox: await rows<OutboxRecord>(`
        select id, entry_id as "entryId", type, payment_version as version from outbox_events
        order by payment_version`),
    executions: await simulator.executions(),
    requests: await simulator.requests(),
  };
}
