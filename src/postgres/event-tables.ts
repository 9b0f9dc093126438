import { bigint, pgTable, primaryKey, unique, uuid } from 'drizzle-orm/pg-core';
import { xid8 } from './columns.ts';

/**
 * Where each event stands in its merchant's one line of events: 1, 2, 3 … without a gap, in the order
 * of the versions for each payment. `semel_number_events` (drizzle/0005) alone writes here; a position
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
