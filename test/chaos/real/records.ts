import type { Execution, ReceivedRequest } from '../../support/with-simulator.ts';

/** The mutation fields that the clients use. */
export type Field =
  | 'createPayment'
  | 'capturePayment'
  | 'voidPayment'
  | 'refundPayment'
  | 'cancelByIdempotencyKey';

/** One request, as its client wrote it down before it was sent. Times are ms since the epoch. */
export interface Ask {
  readonly kind: 'ask';
  readonly id: number;
  readonly at: number;
  readonly merchantId: string;
  readonly key: string;
  readonly field: Field;
  readonly input: Readonly<Record<string, unknown>>;
  readonly server: string;
}

/** What came back, or that nothing did. */
export type Heard =
  | { readonly kind: 'broken'; readonly why: string }
  | { readonly kind: 'refused'; readonly status: number; readonly code: string }
  | {
      readonly kind: 'answered';
      /** EXECUTED, REPLAYED, JOINED or IN_DOUBT. */
      readonly outcome: string;
      /** The first user error's code; null if there is none. */
      readonly error: string | null;
      readonly declineCode: string | null;
      /** The payment's own id, not the global one. */
      readonly paymentId: string | null;
      readonly status: string | null;
      /** The code of an error beside the answer: then the payment could not be read. */
      readonly partly?: string;
    };

export interface Told {
  readonly kind: 'told';
  /** Of the ask that this answers. */
  readonly id: number;
  readonly at: number;
  readonly heard: Heard;
}

/** What was done to the world, for the timeline. */
export interface Struck {
  readonly kind: 'struck';
  readonly at: number;
  readonly what: string;
}

export type Event = Ask | Told | Struck;

export interface EntryRecord {
  readonly id: string;
  readonly merchantId: string;
  readonly paymentId: string;
  readonly key: string;
  readonly operation: string;
  readonly amountMinor: number;
  readonly currency: string;
  readonly state: string;
  readonly source: string | null;
  readonly reason: string | null;
  readonly declineCode: string | null;
  readonly attempt: number;
  readonly pspKey: string;
  readonly createdAt: number;
  readonly settledAt: number | null;
}

export interface PaymentRecord {
  readonly id: string;
  readonly merchantId: string;
  readonly transactionId: string | null;
  readonly amountMinor: number;
  readonly currency: string;
  readonly status: string;
  readonly authorizedMinor: number;
  readonly capturedMinor: number;
  readonly refundedMinor: number;
  /** Captures, refunds and voids that are on their way. */
  readonly reservedMinor: number;
}

export interface PostingRecord {
  readonly entryId: string;
  readonly account: string;
  /** Positive: a debit. */
  readonly signedMinor: number;
  readonly currency: string;
}

export interface OutboxRecord {
  readonly id: string;
  readonly entryId: string;
  /** `operation.state`, in lower case. */
  readonly type: string;
  readonly version: number;
}

/** Everything that is known after a run. */
export interface Evidence {
  readonly events: readonly Event[];
  /** When the last fault was healed. */
  readonly healedAt: number;
  readonly entries: readonly EntryRecord[];
  readonly payments: readonly PaymentRecord[];
  readonly postings: readonly PostingRecord[];
  readonly outbox: readonly OutboxRecord[];
  readonly executions: readonly Execution[];
  readonly requests: readonly ReceivedRequest[];
}
