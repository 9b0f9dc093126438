import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Database } from './connect.ts';

const CHECK_BUDGET_MS = 2_000;
const APPLIED = 'select count(*)::int as applied from drizzle.__drizzle_migrations';
const DURABILITY = `
select name, setting from pg_settings
where name in ('fsync', 'synchronous_commit', 'full_page_writes') and setting = 'off'`;

/** Why the database cannot serve yet, or undefined if it can. `wanted` is a number of migrations. */
export async function whyNotReady(database: Database, wanted: number): Promise<string | undefined> {
  try {
    const [row] = await database.run(APPLIED, [], CHECK_BUDGET_MS);
    const missing = wanted - Number(row?.['applied']);
    return missing > 0 ? `${missing} migrations are not applied` : undefined;
  } catch {
    return 'the database cannot be reached or was never migrated';
  }
}

/** The settings that would let an acknowledged payment be lost (P12). */
export async function unsafeSettings(database: Database): Promise<readonly string[]> {
  const rows = await database.run(DURABILITY, [], CHECK_BUDGET_MS);
  return rows.map((row) => `${row['name']} = ${row['setting']}`);
}

/** How many migrations this build brings: as many as the list in the folder of the generated SQL has. */
export function migrationsIn(folder: string): number {
  const list = JSON.parse(readFileSync(join(folder, 'meta/_journal.json'), 'utf8')) as {
    readonly entries: readonly unknown[];
  };
  return list.entries.length;
}
