import type { Attempt, AttemptResult, Delivery, DeliveryKey, Due } from './delivery.ts';
import type {
  Endpoint,
  EndpointChange,
  EndpointKey,
  NewEndpoint,
  SealedSecret,
} from './endpoint.ts';

/** Newest first: at most `first`, after the id. */
export interface Slice {
  readonly first: number;
  readonly after: string | undefined;
}

export type Created =
  | { readonly kind: 'created'; readonly endpoint: Endpoint }
  | { readonly kind: 'url-taken'; readonly id: string }
  | { readonly kind: 'too-many'; readonly most: number };

export type Changed =
  | { readonly kind: 'changed'; readonly endpoint: Endpoint }
  | { readonly kind: 'url-taken'; readonly id: string }
  | { readonly kind: 'none' };

export type Rotated =
  | { readonly kind: 'rotated'; readonly endpoint: Endpoint; readonly previousUntil: Date | null }
  | { readonly kind: 'too-many'; readonly most: number }
  | { readonly kind: 'none' };

/** Endpoints as their merchants see them. Every method is safe to repeat and throws if the database fails. */
export interface Endpoints {
  create(id: string, endpoint: NewEndpoint, secret: SealedSecret): Promise<Created>;
  change(key: EndpointKey, change: EndpointChange): Promise<Changed>;
  /** @returns false if the merchant never had it */
  remove(key: EndpointKey): Promise<boolean>;
  /** The earlier secrets go on signing for `overlapMs`. */
  rotate(key: EndpointKey, secret: SealedSecret, overlapMs: number): Promise<Rotated>;
  byIds(merchantId: string, ids: readonly string[]): Promise<readonly (Endpoint | undefined)[]>;
  page(merchantId: string, slice: Slice): Promise<readonly Endpoint[]>;
  delivery(key: DeliveryKey): Promise<Delivery | undefined>;
  deliveries(endpoint: EndpointKey, slice: Slice): Promise<readonly Delivery[]>;
  attempts(delivery: DeliveryKey, slice: Slice): Promise<readonly Attempt[]>;
  /** A ping, due at once; undefined if the endpoint is not there or disabled. */
  ping(endpoint: EndpointKey, id: string): Promise<Delivery | undefined>;
  /** Due at once, with a whole schedule before it; undefined as for `ping`. */
  redeliver(delivery: DeliveryKey): Promise<Delivery | undefined>;
}

/** An endpoint that this process alone delivers to, until the lease ends. */
export interface Claim extends EndpointKey {
  readonly url: string;
  readonly token: string;
  /** Attempts that failed since one last succeeded. */
  readonly failures: number;
  readonly secrets: readonly SealedSecret[];
}

/** What is to be written of one attempt. */
export interface Outcome {
  readonly attemptId: string;
  readonly result: AttemptResult;
  readonly httpStatus: number | null;
  readonly durationMs: number;
  readonly response: string | null;
  /** When the next attempt is due; null if there is none. */
  readonly nextInMs: number | null;
  /** How long nothing is sent to the endpoint. */
  readonly pauseMs: number;
  readonly isGone: boolean;
}

export type Recorded = 'recorded' | 'stale' | 'GONE' | 'FAILING';

/** The way of deliveries. Each method is one guarded statement and throws if the database fails. */
export interface Outbox {
  /** Undefined if another process has it, or nothing may be sent to it now. */
  claim(endpoint: EndpointKey, leaseMs: number): Promise<Claim | undefined>;
  /** Makes deliveries of the next `limit` events. */
  fill(claim: Claim, limit: number): Promise<void>;
  due(claim: Claim, limit: number): Promise<readonly Due[]>;
  /** `GONE`, `FAILING`: recorded, and by it the endpoint is disabled. */
  record(due: Due, outcome: Outcome): Promise<Recorded>;
  free(claim: Claim): Promise<void>;
  /** Has the endpoint looked at when its next delivery is due, if nobody looks at it now. */
  schedule(endpoint: EndpointKey): Promise<void>;
  /** Has every endpoint looked at that should be and is not. @returns how many endpoints there are */
  sweep(): Promise<{ readonly live: number; readonly woken: number }>;
}
