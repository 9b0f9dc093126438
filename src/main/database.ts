import { dirname } from 'node:path';
import { fileInPackage } from '../graphql/index.ts';
import {
  Database,
  type JournalOptions,
  PostgresFollowUps,
  PostgresJournal,
  PostgresReversals,
} from '../postgres/index.ts';
import type { Config } from './config.ts';

/** Limits in ms. */
const STATEMENT_MS = 2_000;
const MOST_OPEN_BUDGET_MS = 3_000;
const MOST_SETTLE_BUDGET_MS = 5_000;
const SEND_SPARE_MS = 1_000;
const REPORT_MS = 15_000;

export const migrationsFolder = (): string =>
  dirname(dirname(fileInPackage('drizzle/meta/_journal.json')));

export function openDatabase(config: Config, url: string, onSuspicion: (why: string) => void) {
  const poolMax = config.DATABASE_POOL_MAX;
  return new Database({ url, poolMax, statementMs: STATEMENT_MS, onSuspicion });
}

/** Sums over whole tables: a few connections of their own, and more time. */
export function openReports(url: string): { database: Database; budgetMs: number } {
  const database = new Database({ url, poolMax: 2, statementMs: REPORT_MS });
  return { database, budgetMs: REPORT_MS };
}

/** The journal with the times that the configuration gives it. */
export function openJournal(
  config: Config,
  database: Database,
  onFenced?: () => void,
): PostgresJournal {
  return new PostgresJournal(database, {
    ...optionsOf(config),
    ...(onFenced === undefined ? {} : { onFenced }),
  });
}

export function openFollowUps(config: Config, database: Database): PostgresFollowUps {
  return new PostgresFollowUps(database, optionsOf(config));
}

export function openReversals(config: Config, database: Database): PostgresReversals {
  return new PostgresReversals(database, optionsOf(config));
}

function optionsOf(config: Config): JournalOptions {
  return {
    leaseMs: config.lockTtlMs,
    recoverAfterMs: config.RECOVER_AFTER_MS,
    // One look-up and one send, each with its own deadline.
    recoveryLeaseMs: 2 * config.PSP_TIMEOUT_MS + config.CLOCK_DRIFT_MS + config.LOCK_GRACE_MS,
    openBudgetMs: openBudgetMs(config),
    settleBudgetMs: Math.min(MOST_SETTLE_BUDGET_MS, config.LOCK_GRACE_MS + config.CLOCK_DRIFT_MS),
  };
}

/** T1 may take what the lease holds beyond the send and its spare time. */
export function openBudgetMs({ lockTtlMs, PSP_TIMEOUT_MS }: Config): number {
  return Math.min(MOST_OPEN_BUDGET_MS, lockTtlMs - PSP_TIMEOUT_MS - SEND_SPARE_MS);
}
