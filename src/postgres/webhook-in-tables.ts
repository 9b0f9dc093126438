import { sql } from 'drizzle-orm';
import { check, index, pgTable, primaryKey, text, uuid, varchar } from 'drizzle-orm/pg-core';
import { at, bytea, oneOf } from './columns.ts';

const KEPT = [
  'SETTLED',
  'IN_REVIEW',
  'AGREED',
  'NOTED',
  'CONTRADICTED',
  'HURRIED',
  'NOT_OURS',
  'IGNORED',
] as const;

/**
 * Signed events of PSPs, each once, written in the commit of what it did. The merchant is that of our
 * entry; there is none where the event is about nothing of ours.
 */
export const inboundWebhooks = pgTable(
  'inbound_webhooks',
  {
    psp: text('psp').notNull(),
    eventId: varchar('event_id', { length: 255 }).notNull(),
    type: varchar('type', { length: 255 }).notNull(),
    /** What the event names, as far as it is short. */
    reference: varchar('reference', { length: 255 }),
    merchantId: uuid('merchant_id'),
    entryId: uuid('entry_id'),
    /** SHA-256 of the body as it came. */
    payloadDigest: bytea('payload_digest').notNull(),
    /** What came of it. */
    result: text('result', { enum: KEPT }).notNull(),
    receivedAt: at('received_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    primaryKey({ columns: [t.psp, t.eventId] }),
    index('inbound_webhooks_entry')
      .on(t.merchantId, t.entryId)
      .where(sql`${t.entryId} is not null`),
    check('inbound_webhooks_result', sql`${t.result} ${oneOf(KEPT)}`),
    check(
      'inbound_webhooks_about',
      sql`(${t.merchantId} is null) = (${t.entryId} is null) and (${t.entryId} is null) = (${t.result} in ('NOT_OURS', 'IGNORED'))`,
    ),
  ],
);
