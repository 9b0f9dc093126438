import { sql } from 'drizzle-orm';
import {
  bigint,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';
import { at, xid8 } from './columns.ts';

/** One event for every transition of an entry, written in the same commit. */
export const outboxEvents = pgTable(
  'outbox_events',
  {
    merchantId: uuid('merchant_id').notNull(),
    id: uuid('id').notNull(),
    paymentId: uuid('payment_id').notNull(),
    entryId: uuid('entry_id').notNull(),
    type: text('type').notNull(),
    paymentVersion: integer('payment_version').notNull(),
    createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
    /** The transaction that wrote it: what is not numbered yet is found by it. */
    xid: xid8('xid').notNull().default(sql`pg_current_xact_id()`),
  },
  (t) => [
    primaryKey({ columns: [t.merchantId, t.id] }),
    index('outbox_events_xid').on(t.xid),
    index('outbox_events_payment').on(t.merchantId, t.paymentId),
  ],
);

/**
 * Where each event stands in its merchant's one line of events: 1, 2, 3 … without a gap, in the order
 * of the versions for each payment. `semel_number_events` (drizzle/0013) alone writes here; a position
 * that a reader has seen has all lower ones before it, for ever.
 */
export const outboxPositions = pgTable(
  'outbox_positions',
  {
    merchantId: uuid('merchant_id').notNull(),
    position: bigint('position', { mode: 'number' }).notNull(),
    eventId: uuid('event_id').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.merchantId, t.position] }),
    unique('outbox_positions_event').on(t.merchantId, t.eventId),
  ],
);

/** One row: every event whose transaction is older than this has its position. */
export const outboxMark = pgTable('outbox_mark', {
  numberedBelow: xid8('numbered_below').notNull(),
});
