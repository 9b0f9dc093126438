import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/postgres/index.ts';
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
