import postgres from 'postgres';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

test('a test file gets an empty database of its own', async () => {
  const sql = postgres(database.url);
  const tables = await sql`select 1 from pg_tables where schemaname = 'public'`;
  expect(tables).toHaveLength(0);
  const [names] = await sql`select current_database() as name, current_setting('timezone') as zone`;
  expect(names).toEqual({ name: new URL(database.url).pathname.slice(1), zone: 'UTC' });
  await sql.end();
});
