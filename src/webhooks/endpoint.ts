/** Why nothing is sent to an endpoint: its merchant said so, it answered 410, or it took nothing for long. */
export const DISABLED_REASONS = ['BY_MERCHANT', 'GONE', 'FAILING'] as const;
export type DisabledReason = (typeof DISABLED_REASONS)[number];

/** Where a merchant wants to be told of events. */
export interface Endpoint {
  readonly merchantId: string;
  readonly id: string;
  readonly url: string;
  readonly description: string | null;
  /** Types, or the beginnings of types such as `refund.*`; null: all. */
  readonly eventTypes: readonly string[] | null;
  readonly disabledReason: DisabledReason | null;
  readonly disabledAt: Date | null;
  /** Since when it takes nothing; null if the last attempt was taken. */
  readonly failingSince: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** An endpoint as it is asked for. */
export interface NewEndpoint {
  readonly merchantId: string;
  readonly url: string;
  readonly description: string | null;
  readonly eventTypes: readonly string[] | null;
}

/** What is to change; what is left out stays. */
export interface EndpointChange {
  readonly url?: string;
  readonly description?: string | null;
  readonly eventTypes?: readonly string[] | null;
  readonly enabled?: boolean;
}

/** A name for one endpoint: nobody's endpoint is found without its merchant. */
export interface EndpointKey {
  readonly merchantId: string;
  readonly id: string;
}

/** A secret as the database has it: nobody can read it there. */
export interface SealedSecret {
  readonly id: string;
  readonly sealed: Buffer;
}
