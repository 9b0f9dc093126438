import type { Payment } from './payment.ts';

/** What happened to a payment, at its place in its merchant's line of events. */
export interface PaymentEvent {
  readonly merchantId: string;
  /** 1, 2, 3 … for each merchant, without a gap; for each payment in the order of its versions. */
  readonly position: number;
  /** The same for ever. */
  readonly id: string;
  /** Operation and outcome, such as `charge.succeeded`. */
  readonly type: string;
  readonly paymentId: string;
  /** The version that the payment had afterwards. */
  readonly paymentVersion: number;
  readonly entryId: string;
  readonly createdAt: Date;
}

/** How far a merchant's line reaches. */
export interface LineEnd {
  readonly merchantId: string;
  readonly position: number;
}

/** A payment as somebody knows it. */
export type KnownVersion = Pick<Payment, 'merchantId' | 'id' | 'version'>;

/** The outbox, to be read in order. Throws `JournalUnavailable`. */
export interface Events {
  /** Gives every event that has been committed before the call its position. Any number may ask. */
  number(): Promise<void>;
  /** At most `limit` events with a higher position, lowest first. */
  after(merchantId: string, position: number, limit: number): Promise<readonly PaymentEvent[]>;
  /** The highest position, 0 if there is none. */
  last(merchantId: string): Promise<number>;
  /** The same for several merchants. */
  lasts(merchantIds: readonly string[]): Promise<readonly LineEnd[]>;
  /** Those of them that have a higher version by now. */
  changed(known: readonly KnownVersion[]): Promise<readonly KnownVersion[]>;
}

/** Tells those who wait in this process that there is something to read; what, the outbox says. */
export interface EventFeed {
  /** To be closed by who opened it. */
  open(merchantId: string): EventLine;
  /** Resolves when the payment has a higher version, or the signal is aborted. Never rejects. */
  newer(known: KnownVersion, signal: AbortSignal): Promise<void>;
}

/** One merchant's line of events for one reader. */
export interface EventLine {
  /** How often the line was seen to grow: take it before reading, and give it to `grown`. */
  readonly growths: number;
  /** `Events.after`, one read for all who are at the same place. */
  after(position: number): Promise<readonly PaymentEvent[]>;
  /** Resolves when the line has grown since, or the signal is aborted. Never rejects. */
  grown(since: number, signal: AbortSignal): Promise<void>;
  close(): void;
}
