import postgres from 'postgres';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/postgres/administration.ts';
import {
  Database,
  migrationsIn,
  openWork,
  unsafeSettings,
  whyNotReady,
} from '../../src/postgres/index.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { startProxy } from '../support/proxy.ts';
import { booksAt, holdOf, MIGRATIONS, newPayment, succeeded, UNKNOWN } from './books.ts';
import { fairMs } from './fair-time.ts';

let home: TestDatabase;
let sql: postgres.Sql;
const databases: Database[] = [];
beforeEach(async () => {
  home = await createDatabase();
  sql = postgres(home.url, { max: 1, onnotice: () => {} });
});
afterEach(async () => {
  await Promise.all(databases.splice(0).map((database) => database.close()));
  await sql.end();
  await home.drop();
});

function open(url = home.url): Database {
  const database = new Database({ url, poolMax: 2, statementMs: 2_000 });
  databases.push(database);
  return database;
}

describe('migrations', () => {
  test('by three starters at once are applied once', async () => {
    await Promise.all(Array.from({ length: 3 }, () => migrate(home.url, MIGRATIONS)));
    const [row] = await sql`select count(*)::int as applied from drizzle.__drizzle_migrations`;
    expect(row?.['applied']).toBe(migrationsIn(MIGRATIONS));
    const triggers = await sql`select 1 from pg_trigger where tgname = 'postings_balance'`;
    expect(triggers).toHaveLength(1);
  });

  test('again change nothing, and leave no lock behind', async () => {
    await migrate(home.url, MIGRATIONS);
    await migrate(home.url, MIGRATIONS);
    const [row] = await sql`select count(*)::int as applied from drizzle.__drizzle_migrations`;
    expect(row?.['applied']).toBe(migrationsIn(MIGRATIONS));
    const locks = await sql`
      select 1 from pg_locks where locktype = 'advisory'
        and database = (select oid from pg_database where datname = current_database())`;
    expect(locks).toHaveLength(0);
  });
});

describe('whether the database can serve', () => {
  test('not before it was migrated', async () => {
    expect(await whyNotReady(open(), 3)).toBe(
      'the database cannot be reached or was never migrated',
    );
  });

  test('with every migration', async () => {
    await migrate(home.url, MIGRATIONS);
    const wanted = migrationsIn(MIGRATIONS);
    expect(await whyNotReady(open(), wanted)).toBeUndefined();
    expect(await whyNotReady(open(), wanted + 2)).toBe('2 migrations are not applied');
  });

  test('not without a database, which is said in time', async () => {
    const proxy = await startProxy(Number(new URL(home.url).port));
    const url = new URL(home.url);
    url.port = String(proxy.port);
    const database = open(url.href);
    for (const mode of ['refuse', 'stall'] as const) {
      await proxy.set(mode);
      const said = whyNotReady(database, 3);
      expect(await fairMs(said)).toBeLessThan(2_900);
      expect(await said).toMatch(/cannot be reached/);
    }
    await proxy.close();
  });
});

test('settings that would let it forget are named', async () => {
  const name = new URL(home.url).pathname.slice(1);
  await sql.unsafe(`alter database ${name} set synchronous_commit = off`);
  expect(await unsafeSettings(open())).toContain('synchronous_commit = off');
});

test('a server that writes dates in another way is understood', async () => {
  await migrate(home.url, MIGRATIONS);
  const name = new URL(home.url).pathname.slice(1);
  await sql.unsafe(`alter database ${name} set datestyle = 'SQL, DMY'`);
  await sql.unsafe(`alter database ${name} set timezone = 'America/St_Johns'`);
  const books = booksAt(home.url, async () => {});
  const { entry } = holdOf(await books.journal().open(newPayment()));
  expect(Math.abs(entry.createdAt.getTime() - Date.now())).toBeLessThan(60_000);
  await books.close();
});

test('open work is counted by state, with the age of the oldest that is unknown', async () => {
  await migrate(home.url, MIGRATIONS);
  const books = booksAt(home.url, async () => {});
  const database = books.database();
  expect(await openWork(database)).toEqual({
    byState: { SENDING: 0, UNKNOWN: 0, PENDING: 0, IN_REVIEW: 0 },
    due: 0,
    oldestUnknownS: 0,
  });
  const journal = books.journal();
  const [one, two, three] = await Promise.all(
    Array.from({ length: 5 }, async () => holdOf(await journal.open(newPayment()))),
  );
  if (one !== undefined) await journal.settle(one, UNKNOWN);
  if (two !== undefined) await journal.settle(two, succeeded());
  if (three !== undefined) {
    const doubtful = await journal.settle(three, UNKNOWN);
    await journal.settle({ ...three, ...doubtful }, { ...UNKNOWN, state: 'IN_REVIEW' });
  }
  const work = await openWork(database);
  expect(work.byState).toEqual({ SENDING: 2, UNKNOWN: 1, PENDING: 0, IN_REVIEW: 1 });
  expect(work.due).toBe(0);
  expect(work.oldestUnknownS).toBeGreaterThan(0);
  expect(work.oldestUnknownS).toBeLessThan(60);
  await books.makeDue();
  expect((await openWork(database)).due).toBe(3);
  await books.close();
});
