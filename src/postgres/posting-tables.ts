import { pgTable, primaryKey, uuid } from 'drizzle-orm/pg-core';

/** Entries whose legs do not balance yet, until the end of the transaction that posts them. */
export const postingsToBalance = pgTable(
  'postings_to_balance',
  { merchantId: uuid('merchant_id').notNull(), entryId: uuid('entry_id').notNull() },
  (t) => [primaryKey({ columns: [t.merchantId, t.entryId] })],
);
