import { sql } from 'drizzle-orm';
import {
  boolean,
  char,
  check,
  foreignKey,
  index,
  integer,
  jsonb,
  numeric,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uniqueIndex,
  uuid,
  varchar,
} from 'drizzle-orm/pg-core';
import {
  ACCOUNTS,
  ENTRY_STATES,
  MAX_AMOUNT_MINOR,
  OPERATIONS,
  OUTCOME_SOURCES,
  PAYMENT_STATUSES,
} from '../payments/index.ts';
import { at, bytea, minor, oneOf } from './columns.ts';
import { FREE_STATUSES } from './free-statuses.ts';

export * from './access-tables.ts';
export * from './event-tables.ts';
export * from './posting-tables.ts';
export * from './webhook-in-tables.ts';
export * from './webhook-out-tables.ts';

/**
 * The tables. Every primary key and UNIQUE starts with merchant_id, so that they can be partitioned
 * or distributed by merchant without a change. What drizzle cannot say (triggers) is SQL in
 * `drizzle/`.
 */

const OPEN_STATES = ['SENDING', 'UNKNOWN', 'PENDING'] as const;

export const payments = pgTable(
  'payments',
  {
    merchantId: uuid('merchant_id').notNull(),
    id: uuid('id').notNull(),
    transactionId: varchar('transaction_id', { length: 255 }),
    amountMinor: minor('amount_minor').notNull(),
    currency: char('currency', { length: 3 }).notNull(),
    status: text('status', { enum: PAYMENT_STATUSES }).notNull(),
    authorizedMinor: minor('authorized_minor').notNull().default(0),
    capturedMinor: minor('captured_minor').notNull().default(0),
    captureReservedMinor: minor('capture_reserved_minor').notNull().default(0),
    refundedMinor: minor('refunded_minor').notNull().default(0),
    refundReservedMinor: minor('refund_reserved_minor').notNull().default(0),
    voidReserved: boolean('void_reserved').notNull().default(false),
    /** The adapter and the PSP's own id of the charge; null until it answered. */
    psp: text('psp'),
    pspReference: text('psp_reference'),
    authorizedUntil: at('authorized_until'),
    nextActionUrl: text('next_action_url'),
    paymentMethod: text('payment_method').notNull(),
    description: text('description'),
    metadata: jsonb('metadata'),
    version: integer('version').notNull().default(1),
    nextCheckAt: at('next_check_at'),
    createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
    updatedAt: at('updated_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    primaryKey({ columns: [t.merchantId, t.id] }),
    uniqueIndex('payments_live_transaction_id')
      .on(t.merchantId, t.transactionId)
      .where(sql`${t.transactionId} is not null and not (${t.status} ${oneOf(FREE_STATUSES)})`),
    index('payments_transaction_id')
      .on(t.merchantId, t.transactionId)
      .where(sql`${t.transactionId} is not null`),
    index('payments_authorized_until')
      .on(t.authorizedUntil)
      .where(sql`${t.status} = 'AUTHORIZED' and ${t.authorizedUntil} is not null`),
    check('payments_status', sql`${t.status} ${oneOf(PAYMENT_STATUSES)}`),
    check(
      'payments_amount',
      sql`${t.amountMinor} between 1 and ${sql.raw(`${MAX_AMOUNT_MINOR}`)} or ${t.amountMinor} = 0 and ${t.status} = 'NOT_SENT'`,
    ),
    check(
      'payments_authorized',
      sql`${t.authorizedMinor} >= 0 and ${t.authorizedMinor} <= ${t.amountMinor}`,
    ),
    check(
      'payments_captured',
      sql`${t.capturedMinor} >= 0 and ${t.captureReservedMinor} >= 0 and ${t.capturedMinor} + ${t.captureReservedMinor} <= ${t.authorizedMinor}`,
    ),
    check(
      'payments_refunded',
      sql`${t.refundedMinor} >= 0 and ${t.refundReservedMinor} >= 0 and ${t.refundedMinor} + ${t.refundReservedMinor} <= ${t.capturedMinor}`,
    ),
    check(
      'payments_void',
      sql`not (${t.voidReserved} or ${t.status} = 'VOIDED') or ${t.capturedMinor} + ${t.captureReservedMinor} = 0`,
    ),
  ],
);

export const journalEntries = pgTable(
  'journal_entries',
  {
    merchantId: uuid('merchant_id').notNull(),
    id: uuid('id').notNull(),
    paymentId: uuid('payment_id').notNull(),
    idempotencyKey: varchar('idempotency_key', { length: 255 }).notNull(),
    operation: text('operation', { enum: OPERATIONS }).notNull(),
    amount: numeric('amount', { precision: 18, scale: 4 }).notNull(),
    amountMinor: minor('amount_minor').notNull(),
    currency: char('currency', { length: 3 }).notNull(),
    exponent: smallint('exponent').notNull(),
    fingerprintVersion: smallint('fingerprint_version').notNull(),
    fingerprint: bytea('fingerprint').notNull(),
    state: text('state', { enum: ENTRY_STATES }).notNull(),
    attempt: integer('attempt').notNull().default(1),
    ownerToken: uuid('owner_token').notNull(),
    leaseUntil: at('lease_until').notNull(),
    psp: text('psp').notNull(),
    pspIdempotencyKey: uuid('psp_idempotency_key').notNull(),
    pspReference: text('psp_reference'),
    outcomeSource: text('outcome_source', { enum: OUTCOME_SOURCES }),
    declineCode: text('decline_code'),
    softDecline: boolean('soft_decline'),
    reason: text('reason'),
    /** The arguments of a follow-up as they came. */
    request: jsonb('request'),
    checks: integer('checks').notNull().default(0),
    nextCheckAt: at('next_check_at'),
    sentAt: at('sent_at').notNull(),
    settledAt: at('settled_at'),
    createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    primaryKey({ columns: [t.merchantId, t.id] }),
    unique('journal_entries_intent').on(t.merchantId, t.idempotencyKey),
    unique('journal_entries_psp_key').on(t.merchantId, t.pspIdempotencyKey),
    uniqueIndex('journal_entries_live_charge')
      .on(t.merchantId, t.paymentId)
      .where(
        sql`${t.operation} in ('CHARGE', 'AUTHORIZE') and not (${t.state} in ('DECLINED', 'FAILED'))`,
      ),
    index('journal_entries_payment').on(t.merchantId, t.paymentId),
    /** A PSP names an entry without its merchant. */
    index('journal_entries_id').on(t.id),
    index('journal_entries_psp_reference')
      .on(t.merchantId, t.pspReference)
      .where(sql`${t.pspReference} is not null`),
    index('journal_entries_due')
      .on(t.nextCheckAt)
      .where(sql`${t.state} ${oneOf(OPEN_STATES)}`),
    index('journal_entries_review').on(t.createdAt).where(sql`${t.state} = 'IN_REVIEW'`),
    foreignKey({
      name: 'journal_entries_of_payment',
      columns: [t.merchantId, t.paymentId],
      foreignColumns: [payments.merchantId, payments.id],
    }),
    check('journal_entries_operation', sql`${t.operation} ${oneOf(OPERATIONS)}`),
    check('journal_entries_state', sql`${t.state} ${oneOf(ENTRY_STATES)}`),
    check('journal_entries_source', sql`${t.outcomeSource} ${oneOf(OUTCOME_SOURCES)}`),
    // What nobody asked for has a name that nobody can give: with a space.
    check(
      'journal_entries_key',
      sql`${t.idempotencyKey} ~ '^[!-~]+$' or ${t.operation} = 'REVERSE'`,
    ),
    check(
      'journal_entries_amount',
      sql`(${t.amountMinor} > 0 or ${t.operation} = 'CANCEL' and ${t.amountMinor} = 0) and ${t.exponent} between 0 and 4 and ${t.amount} * (array[1, 10, 100, 1000, 10000])[${t.exponent} + 1] = ${t.amountMinor}`,
    ),
    check(
      'journal_entries_settled',
      sql`(${t.state} in ('SUCCEEDED', 'DECLINED', 'FAILED')) = (${t.settledAt} is not null)`,
    ),
    check(
      'journal_entries_open',
      sql`not (${t.state} ${oneOf(OPEN_STATES)}) or ${t.nextCheckAt} is not null`,
    ),
  ],
);

export const postings = pgTable(
  'postings',
  {
    merchantId: uuid('merchant_id').notNull(),
    entryId: uuid('entry_id').notNull(),
    leg: smallint('leg').notNull(),
    account: text('account').notNull(),
    direction: text('direction', { enum: ['DEBIT', 'CREDIT'] }).notNull(),
    amountMinor: minor('amount_minor').notNull(),
    currency: char('currency', { length: 3 }).notNull(),
    createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    primaryKey({ columns: [t.merchantId, t.entryId, t.leg] }),
    foreignKey({
      name: 'postings_of_entry',
      columns: [t.merchantId, t.entryId],
      foreignColumns: [journalEntries.merchantId, journalEntries.id],
    }),
    check('postings_direction', sql`${t.direction} in ('DEBIT', 'CREDIT')`),
    check('postings_account', sql`${t.account} ${oneOf(ACCOUNTS)}`),
    check('postings_leg', sql`${t.leg} > 0`),
    check('postings_amount', sql`${t.amountMinor} between 1 and ${sql.raw(`${MAX_AMOUNT_MINOR}`)}`),
  ],
);

/** Evidence: what a PSP said of an entry, also when nobody was entitled to act on it any more. */
export const pspObservations = pgTable(
  'psp_observations',
  {
    merchantId: uuid('merchant_id').notNull(),
    id: uuid('id').notNull(),
    entryId: uuid('entry_id').notNull(),
    attempt: integer('attempt').notNull(),
    state: text('state').notNull(),
    outcomeSource: text('outcome_source'),
    pspReference: text('psp_reference'),
    reason: text('reason'),
    createdAt: at('created_at').notNull().default(sql`clock_timestamp()`),
  },
  (t) => [
    primaryKey({ columns: [t.merchantId, t.id] }),
    index('psp_observations_entry').on(t.merchantId, t.entryId),
    index('psp_observations_success').on(t.createdAt).where(sql`${t.state} = 'SUCCEEDED'`),
  ],
);
