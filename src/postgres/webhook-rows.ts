import type { Attempt, Delivery, Endpoint } from '../webhooks/index.ts';
import type { Row } from './connect.ts';

/** The columns that `toEndpoint` reads, of the table aliased `e`. */
export const ENDPOINT_COLUMNS = `
  e.merchant_id, e.id, e.url, e.description, array_to_json(e.event_types) as event_types,
  e.disabled_reason, e.disabled_at, e.failing_since, e.created_at, e.updated_at`;

/** The columns that `toDelivery` reads, of the table aliased `d`. */
export const DELIVERY_COLUMNS = `
  d.merchant_id, d.endpoint_id, d.id, d.type, d.status, d.attempts, d.next_attempt_at,
  d.delivered_at, d.created_at`;

export const ATTEMPT_COLUMNS = `
  a.id, a.number, a.result, a.http_status, a.duration_ms, a.response, a.created_at`;

/** Something may be sent to the endpoint aliased `e`. */
export const IS_LIVE = 'e.deleted_at is null and e.disabled_reason is null';

export const toEndpoint = (row: Row): Endpoint => ({
  merchantId: row['merchant_id'] as string,
  id: row['id'] as string,
  url: row['url'] as string,
  description: row['description'] as string | null,
  eventTypes: row['event_types'] as readonly string[] | null,
  disabledReason: row['disabled_reason'] as Endpoint['disabledReason'],
  disabledAt: row['disabled_at'] as Date | null,
  failingSince: row['failing_since'] as Date | null,
  createdAt: row['created_at'] as Date,
  updatedAt: row['updated_at'] as Date,
});

export const toDelivery = (row: Row): Delivery => ({
  merchantId: row['merchant_id'] as string,
  endpointId: row['endpoint_id'] as string,
  id: row['id'] as string,
  type: row['type'] as string,
  status: row['status'] as Delivery['status'],
  attempts: row['attempts'] as number,
  nextAttemptAt: row['next_attempt_at'] as Date,
  deliveredAt: row['delivered_at'] as Date | null,
  createdAt: row['created_at'] as Date,
});

export const toAttempt = (row: Row): Attempt => ({
  id: row['id'] as string,
  number: row['number'] as number,
  result: row['result'] as Attempt['result'],
  httpStatus: row['http_status'] as number | null,
  durationMs: row['duration_ms'] as number,
  response: row['response'] as string | null,
  createdAt: row['created_at'] as Date,
});
