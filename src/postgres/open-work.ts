import type { Database } from './connect.ts';

const OPEN_WORK = `
select state, count(*)::int as entries,
  coalesce(max(extract(epoch from clock_timestamp() - created_at))
    filter (where state = 'UNKNOWN'), 0)::float8 as oldest_unknown_s
from journal_entries where state in ('SENDING', 'UNKNOWN', 'PENDING') group by state`;
const BUDGET_MS = 2_000;

/** What has no outcome yet: entries by state, and the age of the oldest UNKNOWN one in seconds. */
export async function openWork(database: Database) {
  const byState: Record<string, number> = { SENDING: 0, UNKNOWN: 0, PENDING: 0 };
  const rows = await database.run(OPEN_WORK, [], BUDGET_MS);
  for (const row of rows) byState[row['state'] as string] = row['entries'] as number;
  const oldestUnknownS = Math.max(0, ...rows.map((row) => row['oldest_unknown_s'] as number));
  return { byState, oldestUnknownS };
}
