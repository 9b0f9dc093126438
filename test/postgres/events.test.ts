import { randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { LineEnd } from '../../src/payments/index.ts';
import { migrate } from '../../src/postgres/administration.ts';
import { Database, PostgresEvents } from '../../src/postgres/index.ts';
import { Feed } from '../../src/workers/index.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/pay.ts';

let place: TestDatabase;
let sql: postgres.Sql;
let database: Counting;
let events: PostgresEvents;
let merchant: string;
const told: LineEnd[] = [];

class Counting extends Database {
  readonly asked: string[] = [];
  override run(...call: Parameters<Database['run']>) {
    this.asked.push(call[0]);
    return super.run(...call);
  }
}

beforeAll(async () => {
  place = await createDatabase();
  await migrate(place.url, 'drizzle');
  sql = postgres(place.url, { max: 6, onnotice: () => {} });
  database = new Counting({ url: place.url, poolMax: 2, statementMs: 5_000 });
  events = new PostgresEvents(database, {
    budgetMs: 5_000,
    onNumbered: (ends) => told.push(...ends),
  });
});
afterAll(async () => {
  await database.close();
  await sql.end();
  await place.drop();
});
beforeEach(() => {
  merchant = randomUUID();
});

async function note(payment: string, version: number, of = merchant) {
  await sql`insert into outbox_events (merchant_id, id, payment_id, entry_id, type, payment_version)
    values (${of}, ${randomUUID()}, ${payment}, ${payment}, 'charge.succeeded', ${version})`;
}

describe('events in Postgres', () => {
  test('are read after a position, a page at a time, and only those of the merchant', async () => {
    const payment = randomUUID();
    for (let version = 1; version <= 5; version += 1) await note(payment, version);
    await note(randomUUID(), 1, randomUUID());
    await events.number();
    const page = await events.after(merchant, 1, 3);
    expect(page.map(({ position, paymentVersion }) => [position, paymentVersion])).toEqual([
      [2, 2],
      [3, 3],
      [4, 4],
    ]);
    expect(page[0]).toMatchObject({ merchantId: merchant, paymentId: payment, entryId: payment });
    expect(page[0]?.createdAt).toBeInstanceOf(Date);
    expect(await events.after(merchant, 5, 3)).toEqual([]);
    expect(await events.last(merchant)).toBe(5);
    expect(await events.last(randomUUID())).toBe(0);
    expect(told).toContainEqual({ merchantId: merchant, position: 5 });
  });

  test('who asks for a step gets one that begins afterwards; many who ask share it', async () => {
    const before = database.asked.length;
    const first = events.number();
    await note(randomUUID(), 1);
    await Promise.all([first, ...Array.from({ length: 50 }, () => events.number())]);
    expect(await events.last(merchant)).toBe(1);
    expect(database.asked.length - before).toBeLessThanOrEqual(4);
  });
});

describe('the feed', () => {
  const open = () => new Feed({ events, everyMs: 50, pageSize: 10, onError: () => {} });
  const never = new AbortController().signal;

  test('asks nothing while nobody waits', async () => {
    const feed = open();
    const before = database.asked.length;
    await feed.stop();
    expect(database.asked.length).toBe(before);
  });

  test('wakes who waits once the line has grown, without being told', async () => {
    const feed = open();
    const line = feed.open(merchant);
    const waits = line.grown(line.growths, never);
    await note(randomUUID(), 1);
    await events.number();
    await waits;
    expect((await line.after(0)).length).toBe(1);
    line.close();
    await feed.stop();
  });

  test('does not believe what it is told', async () => {
    const feed = open();
    const line = feed.open(merchant);
    let woken = false;
    const end = new AbortController();
    const waits = line.grown(line.growths, end.signal).then(() => {
      woken = true;
    });
    feed.wake([{ merchantId: merchant, position: 1_000_000 }]);
    const before = database.asked.length;
    await eventually(
      async () => database.asked.length,
      (asked) => asked > before + 2,
    );
    expect(woken).toBe(false);
    end.abort();
    await waits;
    line.close();
    await feed.stop();
  });

  test('readers at the same place share one read and one look', async () => {
    const feed = open();
    const lines = Array.from({ length: 100 }, () => feed.open(merchant));
    await note(randomUUID(), 1);
    await events.number();
    const before = database.asked.length;
    const pages = await Promise.all(lines.map((line) => line.after(0)));
    expect(pages.every((page) => page.length === 1)).toBe(true);
    const reads = database.asked.slice(before).filter((text) => text.includes('outbox_events'));
    expect(reads).toHaveLength(1);
    for (const line of lines) line.close();
    await feed.stop();
  });
});
