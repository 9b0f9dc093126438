import { sql } from 'drizzle-orm';
import { index, pgTable, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { at, bytea } from './columns.ts';

export const merchants = pgTable('merchants', {
  id: uuid('id').primaryKey(),
  name: text('name').notNull(),
  createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
});

export const apiKeys = pgTable(
  'api_keys',
  {
    merchantId: uuid('merchant_id')
      .notNull()
      .references(() => merchants.id),
    id: uuid('id').notNull(),
    /** SHA-256 of the key; the key itself is shown once and kept nowhere. */
    keyHash: bytea('key_hash').notNull(),
    /** The first characters, to tell keys apart. */
    prefix: text('prefix').notNull(),
    name: text('name').notNull(),
    scopes: text('scopes').array().notNull(),
    expiresAt: at('expires_at'),
    revokedAt: at('revoked_at'),
    createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [primaryKey({ columns: [t.merchantId, t.id] }), index('api_keys_hash').on(t.keyHash)],
);
