import type { Database } from './connect.ts';

const OPEN_WORK = `
select state, count(*)::int as entries, count(*) filter (where next_check_at <= clock_timestamp())::int
  as due, coalesce(max(extract(epoch from clock_timestamp() - created_at))
    filter (where state = 'UNKNOWN'), 0)::float8 as oldest_unknown_s
from journal_entries where state in ('SENDING', 'UNKNOWN', 'PENDING') group by state
union all
select 'IN_REVIEW', count(*)::int, 0, 0 from journal_entries where state = 'IN_REVIEW'`;
const BUDGET_MS = 2_000;

/**
 * What has no outcome yet: entries by state, how many of them are due, and the age of the oldest
 * UNKNOWN one in seconds. Two small indexes hold just these entries.
 */
export async function openWork(database: Database) {
  const byState: Record<string, number> = { SENDING: 0, UNKNOWN: 0, PENDING: 0, IN_REVIEW: 0 };
  const rows = await database.run(OPEN_WORK, [], BUDGET_MS);
  for (const row of rows) byState[row['state'] as string] = row['entries'] as number;
  const due = rows.reduce((sum, row) => sum + (row['due'] as number), 0);
  const oldestUnknownS = Math.max(0, ...rows.map((row) => row['oldest_unknown_s'] as number));
  return { byState, due, oldestUnknownS };
}
