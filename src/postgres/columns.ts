import { sql } from 'drizzle-orm';
import { bigint, customType, timestamp } from 'drizzle-orm/pg-core';

/** The kinds of columns that the tables are made of. */

export const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
/** The id of a transaction, which only grows (Postgres: "Transactions and Identifiers"). */
export const xid8 = customType<{ data: string }>({ dataType: () => 'xid8' });
export const at = (name: string) => timestamp(name, { withTimezone: true, mode: 'date' });
export const minor = (name: string) => bigint(name, { mode: 'number' });
export const oneOf = (values: readonly string[]) =>
  sql.raw(`in (${values.map((value) => `'${value}'`).join(', ')})`);
