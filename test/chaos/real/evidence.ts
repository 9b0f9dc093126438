import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type postgres from 'postgres';
import type { TestSimulator } from '../../support/with-simulator.ts';
import { readMoves } from './audit.ts';
import type { History } from './client.ts';
import { CARDS } from './orders.ts';
import type {
  EntryRecord,
  Event,
  Evidence,
  ObservationRecord,
  OutboxRecord,
  PaymentRecord,
  PostingRecord,
  ReadRecord,
} from './records.ts';
import { openSql, type World } from './world.ts';

const OPEN = `state in ('SENDING', 'UNKNOWN', 'PENDING')`;
/** What no server may have to write to its log, whatever befalls it. */
const COMPLAINT = /CROSSSLOT|unhandled|uncaught/i;
const MOST_COMPLAINTS = 100;

/** How many entries have no outcome. */
export async function openEntries(world: World): Promise<number> {
  const sql = openSql(world);
  try {
    const [row] = await sql.unsafe(
      `select count(*)::int as open from journal_entries where ${OPEN}`,
    );
    return Number(row?.['open']);
  } finally {
    await sql.end();
  }
}

/** How many events there are. */
export async function eventsWritten(world: World): Promise<number> {
  const sql = openSql(world);
  try {
    const [row] = await sql.unsafe('select count(*)::int as written from outbox_events');
    return Number(row?.['written']);
  } finally {
    await sql.end();
  }
}

/** The clients' history, the PSP's books, what the database holds, and what was found in logs. */
export async function gather(
  world: World,
  history: History,
  { healedAt, reads }: { readonly healedAt: number; readonly reads: readonly ReadRecord[] },
): Promise<Evidence> {
  const sql = openSql(world);
  try {
    const complaints = await searchLogs(world);
    await searchRedis(world);
    await searchTables(world, sql);
    return {
      ...(await gatherFrom(sql, world.psp, await history.read(), healedAt)),
      mayNeedReview: world.psp.profile.mayNeedReview,
      moves: await readMoves(sql),
      sends: world.sends.read(),
      reads,
      spills: world.canaries.spills,
      complaints,
    };
  } finally {
    await sql.end();
  }
}

/** What any database and PSP tell of themselves; of who did what, and of logs, nothing. */
export async function gatherFrom(
  sql: postgres.Sql,
  simulator: Pick<TestSimulator, 'executions' | 'requests'>,
  events: readonly Event[],
  healedAt: number,
): Promise<Evidence> {
  return {
    events,
    healedAt,
    mayNeedReview: false,
    ...(await tables(sql)),
    executions: await simulator.executions(),
    requests: await simulator.requests(),
    moves: [],
    sends: [],
    reads: [],
    spills: [],
    complaints: [],
  };
}

async function tables(sql: postgres.Sql) {
  const rows = async <T>(text: string) => (await sql.unsafe(text)) as unknown as readonly T[];
  return {
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
      select e.id, e.merchant_id as "merchantId", e.entry_id as "entryId", e.type,
        e.payment_version as version, p.position::float8 as position
      from outbox_events e
      left join outbox_positions p on p.merchant_id = e.merchant_id and p.event_id = e.id
      order by e.payment_version`),
    observations: await rows<ObservationRecord>(
      'select entry_id as "entryId", attempt from psp_observations',
    ),
  };
}

/** Looks for what was planted in every server's log. @returns what no server should have to say */
async function searchLogs(world: World): Promise<readonly string[]> {
  const { canaries, servers, folder } = world;
  const complaints: string[] = [];
  for (const { name } of servers) {
    const lines = createInterface({ input: createReadStream(join(folder.path, `${name}.log`)) });
    for await (const line of lines) {
      canaries.look(line, `the log of ${name}`);
      if (COMPLAINT.test(line) && complaints.length < MOST_COMPLAINTS) complaints.push(line);
    }
  }
  return complaints;
}

async function searchRedis({ redis, canaries }: World): Promise<void> {
  for (const node of redis.nodes) {
    const client = node.client();
    // A replica of a cluster shows its keys only to those who say that they know.
    if (redis.name === 'cluster') await client.call('READONLY');
    for await (const keys of client.scanStream({ count: 1_000 }) as AsyncIterable<string[]>) {
      for (const key of keys) {
        const dumped = await client.dumpBuffer(key);
        canaries.look(`${key} ${dumped?.toString('latin1')}`, 'Redis');
      }
    }
    client.disconnect();
  }
}

/** Cards are nowhere at all, and no key of a merchant can be read from the tables. */
async function searchTables({ merchants, canaries }: World, sql: postgres.Sql): Promise<void> {
  const secrets = [...CARDS, ...merchants.map(({ apiKey }) => apiKey)];
  for (const table of ['payments', 'journal_entries', 'api_keys', 'inbound_webhooks']) {
    for (const secret of secrets) {
      const [row] = await sql.unsafe(
        `select count(*)::int as found from ${table} t where position($1 in t::text) > 0`,
        [secret],
      );
      if (Number(row?.['found']) > 0) canaries.look(secret, `the table ${table}`);
    }
  }
}
