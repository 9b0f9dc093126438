import { sql } from 'drizzle-orm';
import {
  bigint,
  check,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
  varchar,
} from 'drizzle-orm/pg-core';
import { ATTEMPT_RESULTS, DELIVERY_STATUSES, DISABLED_REASONS } from '../webhooks/index.ts';
import { at, bytea, oneOf } from './columns.ts';

/** Where merchants want to be told of their events, and how far each endpoint has come. */
export const webhookEndpoints = pgTable(
  'webhook_endpoints',
  {
    merchantId: uuid('merchant_id').notNull(),
    id: uuid('id').notNull(),
    url: varchar('url', { length: 2_048 }).notNull(),
    description: varchar('description', { length: 255 }),
    /** Null: all of them. */
    eventTypes: text('event_types').array(),
    /** Of the merchant's events, all up to this one have their delivery (or are not wanted). */
    position: bigint('position', { mode: 'number' }).notNull(),
    disabledReason: text('disabled_reason', { enum: DISABLED_REASONS }),
    disabledAt: at('disabled_at'),
    /** Attempts that failed since one last succeeded, and since when. */
    failures: integer('failures').notNull().default(0),
    failingSince: at('failing_since'),
    /** Nothing is sent before. */
    resumeAt: at('resume_at'),
    /** Whoever delivers holds this; it ends by itself if that process dies. */
    leaseToken: uuid('lease_token'),
    leaseUntil: at('lease_until'),
    deletedAt: at('deleted_at'),
    createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
    updatedAt: at('updated_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    primaryKey({ columns: [t.merchantId, t.id] }),
    uniqueIndex('webhook_endpoints_url').on(t.merchantId, t.url).where(sql`${t.deletedAt} is null`),
    index('webhook_endpoints_live')
      .on(t.merchantId, t.id)
      .where(sql`${t.deletedAt} is null and ${t.disabledReason} is null`),
    check('webhook_endpoints_reason', sql`${t.disabledReason} ${oneOf(DISABLED_REASONS)}`),
    check(
      'webhook_endpoints_disabled',
      sql`(${t.disabledReason} is null) = (${t.disabledAt} is null)`,
    ),
  ],
);

/** What an endpoint's deliveries are signed with: the present secret, and earlier ones for a while. */
export const webhookSecrets = pgTable(
  'webhook_secrets',
  {
    merchantId: uuid('merchant_id').notNull(),
    id: uuid('id').notNull(),
    endpointId: uuid('endpoint_id').notNull(),
    /** Encrypted with a key that is not in the database; null once nobody signs with it. */
    sealed: bytea('sealed'),
    createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
    /** Null: the present one. */
    expiresAt: at('expires_at'),
  },
  (t) => [
    primaryKey({ columns: [t.merchantId, t.id] }),
    index('webhook_secrets_endpoint').on(t.merchantId, t.endpointId),
    foreignKey({
      name: 'webhook_secrets_of_endpoint',
      columns: [t.merchantId, t.endpointId],
      foreignColumns: [webhookEndpoints.merchantId, webhookEndpoints.id],
    }),
  ],
);

/** One event (or ping) for one endpoint. Its id is the event's own. */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    merchantId: uuid('merchant_id').notNull(),
    endpointId: uuid('endpoint_id').notNull(),
    id: uuid('id').notNull(),
    type: text('type').notNull(),
    status: text('status', { enum: DELIVERY_STATUSES }).notNull().default('PENDING'),
    /** All there were, and those since it was last asked for by hand. */
    attempts: integer('attempts').notNull().default(0),
    tries: integer('tries').notNull().default(0),
    /** The first of those tries that failed. */
    failingSince: at('failing_since'),
    nextAttemptAt: at('next_attempt_at').notNull().default(sql`clock_timestamp()`),
    deliveredAt: at('delivered_at'),
    createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    primaryKey({ columns: [t.merchantId, t.endpointId, t.id] }),
    index('webhook_deliveries_due')
      .on(t.merchantId, t.endpointId, t.nextAttemptAt)
      .where(sql`${t.status} = 'PENDING'`),
    foreignKey({
      name: 'webhook_deliveries_of_endpoint',
      columns: [t.merchantId, t.endpointId],
      foreignColumns: [webhookEndpoints.merchantId, webhookEndpoints.id],
    }),
    check('webhook_deliveries_status', sql`${t.status} ${oneOf(DELIVERY_STATUSES)}`),
    check(
      'webhook_deliveries_delivered',
      sql`not (${t.status} = 'DELIVERED') or ${t.deliveredAt} is not null`,
    ),
  ],
);

/** What came of each attempt; append-only. */
export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    merchantId: uuid('merchant_id').notNull(),
    id: uuid('id').notNull(),
    endpointId: uuid('endpoint_id').notNull(),
    deliveryId: uuid('delivery_id').notNull(),
    number: integer('number').notNull(),
    result: text('result', { enum: ATTEMPT_RESULTS }).notNull(),
    httpStatus: integer('http_status'),
    durationMs: integer('duration_ms').notNull(),
    /** The beginning of what the endpoint said. */
    response: text('response'),
    createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    primaryKey({ columns: [t.merchantId, t.id] }),
    unique('webhook_attempts_number').on(t.merchantId, t.endpointId, t.deliveryId, t.number),
    foreignKey({
      name: 'webhook_attempts_of_delivery',
      columns: [t.merchantId, t.endpointId, t.deliveryId],
      foreignColumns: [
        webhookDeliveries.merchantId,
        webhookDeliveries.endpointId,
        webhookDeliveries.id,
      ],
    }),
    check('webhook_attempts_result', sql`${t.result} ${oneOf(ATTEMPT_RESULTS)}`),
  ],
);
