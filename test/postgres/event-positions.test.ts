import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/postgres/administration.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
let sql: postgres.Sql;
let merchant: string;

beforeAll(async () => {
  database = await createDatabase();
  await migrate(database.url, 'drizzle');
  sql = postgres(database.url, { max: 12, onnotice: () => {} });
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});
beforeEach(() => {
  merchant = randomUUID();
});

/** Writes the event of one version of a payment. */
async function note(way: postgres.ISql, payment: string, version: number) {
  await way`insert into outbox_events (merchant_id, id, payment_id, entry_id, type, payment_version)
    values (${merchant}, ${randomUUID()}, ${payment}, ${payment}, 'charge.succeeded', ${version})`;
}
async function grow(session: postgres.Sql, count: number) {
  await session`
    insert into outbox_events (merchant_id, id, payment_id, entry_id, type, payment_version)
    select ${merchant}, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'charge.succeeded', 1
    from generate_series(1, ${count}::int)`;
}
/** How many rows and index entries of the events and their positions were ever read. */
async function rowsRead(session: postgres.Sql): Promise<number> {
  await session`select pg_stat_force_next_flush()`;
  const [seen] = await session`select
    (select sum(idx_tup_read) from pg_stat_user_indexes where relname like 'outbox_%')
    + (select sum(seq_tup_read) from pg_stat_user_tables where relname like 'outbox_%') as rows`;
  return Number(seen?.['rows']);
}
const step = () => sql`select semel_number_events()`;
const line = () => sql`
  select p.position::int, e.payment_id, e.payment_version from outbox_positions p
  join outbox_events e on e.merchant_id = p.merchant_id and e.id = p.event_id
  where p.merchant_id = ${merchant} order by p.position`;
const versions = async () => (await line()).map((row) => row['payment_version']);

describe('the positions of events', () => {
  test('follow the versions of a payment, whichever transaction was begun first', async () => {
    const payment = randomUUID();
    await sql.begin(async (early) => {
      await early`select pg_current_xact_id()`;
      await note(sql, payment, 1);
      await note(early, payment, 2);
    });
    await step();
    expect(await versions()).toEqual([1, 2]);
  });

  test('are given to what commits late, after what has been seen', async () => {
    const [slow, fast] = [randomUUID(), randomUUID()];
    await sql.begin(async (late) => {
      await note(late, slow, 1);
      await note(sql, fast, 1);
      await step();
      await note(sql, fast, 2);
      await step();
      await step();
      expect(await versions()).toEqual([1, 2]);
    });
    await step();
    const rows = await line();
    expect(rows.map((row) => row['position'])).toEqual([1, 2, 3]);
    expect(rows.at(-1)?.['payment_id']).toBe(slow);
  });

  test('cost the same however many there are, also for a session that has known none', async () => {
    const young = await createDatabase();
    await migrate(young.url, 'drizzle');
    const session = postgres(young.url, { max: 1, onnotice: () => {} });
    await session`vacuum analyze outbox_events, outbox_positions`;
    for (let i = 0; i < 10; i += 1) await session`select semel_number_events()`;
    await grow(session, 3_000);
    await session`select semel_number_events()`;
    const before = await rowsRead(session);
    await grow(session, 50);
    await session`select semel_number_events()`;
    const after = await rowsRead(session);
    await session.end();
    await young.drop();
    expect(before).toBeGreaterThan(0);
    expect(after - before).toBeLessThan(500);
  });

  test('have no gap and no double under many writers and steps at once', async () => {
    const payments = Array.from({ length: 20 }, () => randomUUID());
    const writers = payments.map(async (payment) => {
      for (let version = 1; version <= 10; version += 1) await note(sql, payment, version);
    });
    const steps = Array.from({ length: 4 }, async () => {
      for (let i = 0; i < 30; i += 1) await step();
    });
    await Promise.all([...writers, ...steps]);
    await step();
    const rows = await line();
    expect(rows.map((row) => row['position'])).toEqual(rows.map((_, index) => index + 1));
    for (const payment of payments) {
      const own = rows.filter((row) => row['payment_id'] === payment);
      expect(own.map((row) => row['payment_version'])).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    }
  });

  test('go on in a cluster whose transactions are younger than the mark', async () => {
    const payment = randomUUID();
    await note(sql, payment, 1);
    await step();
    await sql`update outbox_mark set numbered_below = '9999999999'`;
    await note(sql, payment, 2);
    await step();
    expect(await versions()).toEqual([1, 2]);
  });

  test('are changed by nobody', async () => {
    await note(sql, randomUUID(), 1);
    await step();
    const own = sql`where merchant_id = ${merchant}`;
    await expect(sql`update outbox_positions set position = 9 ${own}`).rejects.toThrow(
      'append-only',
    );
    await expect(sql`delete from outbox_positions ${own}`).rejects.toThrow('append-only');
  });
});
