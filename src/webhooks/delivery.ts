export const DELIVERY_STATUSES = ['PENDING', 'DELIVERED', 'FAILED'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** What an attempt ended in. Only the first is a delivery. */
export const ATTEMPT_RESULTS = [
  'DELIVERED',
  'HTTP_ERROR',
  'REDIRECTED',
  'TIMED_OUT',
  'NOT_RESOLVED',
  'NOT_CONNECTED',
  'TLS_FAILED',
  'DESTINATION_REFUSED',
] as const;
export type AttemptResult = (typeof ATTEMPT_RESULTS)[number];

/** The type of the message by which an endpoint is tried out. */
export const PING = 'webhook.ping';

/** One event, or a ping, for one endpoint. */
export interface Delivery {
  readonly merchantId: string;
  readonly endpointId: string;
  /** The event's own id, so that nothing is delivered under two names; of a ping, one of its own. */
  readonly id: string;
  readonly type: string;
  readonly status: DeliveryStatus;
  readonly attempts: number;
  readonly nextAttemptAt: Date;
  readonly deliveredAt: Date | null;
  readonly createdAt: Date;
}

export type DeliveryKey = Pick<Delivery, 'merchantId' | 'endpointId' | 'id'>;

/** What came of one attempt. */
export interface Attempt {
  readonly id: string;
  /** 1 for the first. */
  readonly number: number;
  readonly result: AttemptResult;
  readonly httpStatus: number | null;
  readonly durationMs: number;
  /** The beginning of what the endpoint said, without anything secret. */
  readonly response: string | null;
  readonly createdAt: Date;
}

/** What happened, as far as it never changes: every attempt says the same. */
export interface Happened {
  readonly at: Date;
  readonly paymentId: string;
  readonly paymentVersion: number;
  readonly entryId: string;
  readonly operation: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly transactionId: string | null;
}

/** A delivery that is due. */
export interface Due extends DeliveryKey {
  readonly type: string;
  readonly attempts: number;
  /** Attempts since it was made, or was last asked for by hand. */
  readonly tries: number;
  readonly createdAt: Date;
  /** Undefined: a ping. */
  readonly happened: Happened | undefined;
}
