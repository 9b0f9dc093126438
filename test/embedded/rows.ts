import postgres from 'postgres';

/** Runs a few statements on a connection of their own, which is closed whatever happens. */
export async function withSql<T>(url: string, use: (sql: postgres.Sql) => Promise<T>): Promise<T> {
  const sql = postgres(url, { max: 4, onnotice: () => {} });
  try {
    return await use(sql);
  } finally {
    await sql.end({ timeout: 1 });
  }
}

/** Adds a row to a table it makes if there is none. @returns how many rows there are now */
export function addRow(url: string): Promise<number> {
  return withSql(url, async (sql) => {
    await sql`create table if not exists visits (id int generated always as identity)`;
    await sql`insert into visits default values`;
    const [row] = await sql<{ count: number }[]>`select count(*)::int as count from visits`;
    return row?.count ?? 0;
  });
}
