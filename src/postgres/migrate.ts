import { readMigrationFiles } from 'drizzle-orm/migrator';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator';
import postgres from 'postgres';

/** Any constant will do, as long as every starter of this database takes the same lock. */
const MIGRATION_LOCK = 7_301_135;

/**
 * Brings the database up to date. Any number of starters may call it at once: one migrates.
 *
 * @param folder where the generated SQL is
 */
export async function migrate(url: string, folder: string): Promise<void> {
  const client = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await client`select pg_advisory_lock(${MIGRATION_LOCK})`;
    await applyMigrations(drizzle(client), { migrationsFolder: folder });
  } finally {
    await client.end({ timeout: 2 });
  }
}

/** How many migrations this build brings. */
export function migrationsIn(folder: string): number {
  return readMigrationFiles({ migrationsFolder: folder }).length;
}
