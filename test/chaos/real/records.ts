import type { Execution, ReceivedRequest } from '../../support/with-simulator.ts';
import type { Action, Point } from './points.ts';

/** The mutation fields that the clients use. */
export type Field =
  | 'createPayment'
  | 'capturePayment'
  | 'voidPayment'
  | 'refundPayment'
  | 'confirmPayment'
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

/** One fault, written down once it is over. */
export interface Struck {
  readonly kind: 'struck';
  readonly at: number;
  readonly until: number;
  /** Such as `F9-postgres-shutdown@T1`. */
  readonly cell: string;
  readonly server: string;
  readonly point: Point;
  readonly action: Action;
  /** What the server said of where it was hit: at T2 the entry, its attempt and the outcome. */
  readonly detail: string;
}

/** For the timeline. */
export interface Note {
  readonly kind: 'note';
  readonly at: number;
  readonly what: string;
}

export type Event = Ask | Told | Struck | Note;

/** One step of an entry, as the run's own trigger saw it: by which server, under which ownership. */
export interface MoveRecord {
  readonly entryId: string;
  readonly attempt: number;
  readonly owner: string;
  readonly state: string;
  readonly server: string;
  readonly at: number;
}

/** A request that a server wrote to the PSP, as its way there saw it. */
export interface SendRecord {
  readonly at: number;
  readonly server: string;
  readonly reference: string;
}

/** An answer of the PSP that came to a superseded attempt. */
export interface ObservationRecord {
  readonly entryId: string;
  readonly attempt: number;
}

/** An event as a reader got it, in the order in which they came to it. */
export interface ReadRecord {
  readonly merchantId: string;
  readonly id: string;
  readonly type: string;
}

/** A secret, or what must never be kept, found where it must not be. */
export interface Spill {
  readonly what: string;
  readonly where: string;
}

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
  readonly merchantId: string;
  readonly entryId: string;
  /** `operation.state`, in lower case. */
  readonly type: string;
  readonly version: number;
  /** In its merchant's line of events; null if it has none. */
  readonly position: number | null;
}

/** Everything that is known after a run. */
export interface Evidence {
  readonly events: readonly Event[];
  /** When the last fault was healed. */
  readonly healedAt: number;
  /** True: the PSP forgets keys, and what it did not execute in time may need a person. */
  readonly mayNeedReview: boolean;
  readonly entries: readonly EntryRecord[];
  readonly payments: readonly PaymentRecord[];
  readonly postings: readonly PostingRecord[];
  readonly outbox: readonly OutboxRecord[];
  readonly executions: readonly Execution[];
  readonly requests: readonly ReceivedRequest[];
  readonly moves: readonly MoveRecord[];
  readonly sends: readonly SendRecord[];
  readonly observations: readonly ObservationRecord[];
  readonly reads: readonly ReadRecord[];
  readonly spills: readonly Spill[];
  /** Lines of the servers' logs that no server should ever have to write. */
  readonly complaints: readonly string[];
}
