import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate as applyMigrations } from 'drizzle-orm/postgres-js/migrator';
import { Logger, runMigrations as migrateJobs } from 'graphile-worker';
import postgres from 'postgres';
import { JOBS_SCHEMA } from '../webhooks/index.ts';
import { CALM } from './calm.ts';
import { migrationsIn } from './checks.ts';

/** Any constant will do, as long as every starter of this database takes the same lock. */
const MIGRATION_LOCK = 7_301_135;

/**
 * Brings the database up to date. Any number of starters may call it at once: one migrates.
 *
 * @param folder where the generated SQL is
 */
export async function migrate(url: string, folder: string): Promise<void> {
  const client = postgres(url, CALM);
  try {
    // Whoever may only serve cannot migrate, and need not where everything is applied.
    if (await isUpToDate(client, folder)) return;
    await client`select pg_advisory_lock(${MIGRATION_LOCK})`;
    // First, since ours grants what is in the schema of the jobs.
    await migrateJobs({ connectionString: url, schema: JOBS_SCHEMA, logger: SILENT });
    await applyMigrations(drizzle(client), { migrationsFolder: folder });
  } finally {
    await client.end({ timeout: 2 });
  }
}

const SILENT = new Logger(() => () => {});

async function isUpToDate(client: postgres.Sql, folder: string): Promise<boolean> {
  try {
    const [row] = await client`select count(*)::int as applied from drizzle.__drizzle_migrations`;
    return row?.['applied'] >= migrationsIn(folder);
  } catch (error) {
    if (error instanceof postgres.PostgresError) return false;
    throw error;
  }
}
