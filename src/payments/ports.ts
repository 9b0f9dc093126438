import type { Refusal } from './allowed.ts';
import type { Conclusion } from './conclude.ts';
import type { Money } from './money.ts';
import type { Found, Outcome } from './outcome.ts';
import type {
  FirstOperation,
  FollowUpOperation,
  JournalEntry,
  Operation,
  Payment,
  PaymentStatus,
} from './payment.ts';

/** One charge as the PSP is asked for it. `reference` and `pspKey` are the same on every attempt. */
export interface Charge extends Money {
  /** The journal entry's id: what the PSP's books can be searched by. */
  readonly reference: string;
  /** The PSP's idempotency key (P15: one per intent, over all attempts and restarts). */
  readonly pspKey: string;
  /** The PSP's token of a payment method; never a card number. */
  readonly paymentMethod: string;
  /** False: the money is only reserved, and captured or let go later. */
  readonly capture?: boolean;
}

/** A capture, void, refund or confirmation as the PSP is asked for it; the same on every attempt. */
export interface FollowUpOrder extends Money {
  readonly reference: string;
  readonly pspKey: string;
  /** The PSP's own id of the charge that it belongs to. */
  readonly chargeReference: string;
}

export interface Psp {
  readonly name: string;
  /** How long the PSP surely answers a repeated key with the first result, in ms. */
  readonly keyWindowMs: number;
  /** How long after a send a look-up may still miss it, in ms. */
  readonly settlingMs: number;
  /** True: what a look-up misses after that was never executed, and never will be. */
  readonly lookupIsFinal?: boolean;
  /** The longest pause before it is asked again while it has not said how an operation stands, in ms. */
  readonly askAgainMs: number;
  /** At most one HTTP request; never throws; answers within the PSP timeout. */
  charge(charge: Charge): Promise<Outcome>;
  /** As `charge`, for a part of what was authorised or all of it. */
  capture(order: FollowUpOrder): Promise<Outcome>;
  /** As `charge`; the amount is the whole of what was authorised. */
  void(order: FollowUpOrder): Promise<Outcome>;
  /** As `charge`, for a part of what was captured or all of it. */
  refund(order: FollowUpOrder): Promise<Outcome>;
  /** Goes on with a charge once the buyer has done what it waited for; the amount is the charge's. */
  confirm(order: FollowUpOrder): Promise<Outcome>;
  /**
   * Asks the PSP's books by our reference; never throws; answers within the PSP timeout. A PSP that
   * cannot search all its books is helped by what is known of the operation; without it, a charge.
   */
  find(reference: string, sought?: Sought): Promise<Found>;
}

/** What is known of an operation that is looked for. */
export interface Sought {
  readonly operation: Operation;
  /** The PSP's own id of the charge that it is or belongs to, if it has told us. */
  readonly chargeReference: string | null;
}

/** An entry and the payment it belongs to, as they stand in the journal. */
export interface Recorded {
  readonly entry: JournalEntry;
  readonly payment: Payment;
}

/** The right to move one entry: valid while attempt and token are the row's own (P13). */
export interface Hold extends Recorded {
  readonly ownerToken: string;
}

export interface NewPayment extends Money {
  readonly merchantId: string;
  readonly idempotencyKey: string;
  readonly fingerprint: { readonly version: number; readonly digest: Buffer };
  readonly paymentMethod: string;
  readonly transactionId: string | null;
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  /** AUTHORIZE: the money is only reserved. CHARGE if left out. */
  readonly operation?: FirstOperation;
  /** The adapter's name, kept with the entry. */
  readonly psp: string;
}

export type Opened =
  | { readonly kind: 'opened'; readonly hold: Hold }
  | ({ readonly kind: 'exists' } & Recorded)
  | { readonly kind: 'transaction-id-taken'; readonly paymentId: string };

/** An entry whose outcome is not known, taken over by one recoverer. */
export interface Doubt extends Hold {
  /** Time since the first byte may have left, in ms, by the database's clock. */
  readonly ageMs: number;
  /** How often the PSP has been asked before. */
  readonly checks: number;
}

/**
 * The second door and the durable record. Each method is one SQL statement (or one and a read),
 * answers within its deadline and throws `JournalUnavailable` if the database does not.
 */
export interface Journal {
  /** T1: a committed entry in state SENDING, or what stands in its way. */
  open(payment: NewPayment): Promise<Opened>;
  /** T1 again for an entry that is FAILED with source NOT_SENT: attempt + 1, same PSP key. */
  reopen(recorded: Recorded): Promise<Opened>;
  /**
   * T2: the outcome, postings and event in one commit. If the hold is no longer the entry's, nothing
   * moves: the conclusion is kept as evidence and the answer is the entry as it stands.
   */
  settle(hold: Hold, conclusion: Conclusion): Promise<Settled>;
  /**
   * Takes over at most `limit` entries that are due and were sent by this PSP; two recoverers never
   * get the same one.
   */
  takeOver(limit: number, psp: string): Promise<readonly Doubt[]>;
}

export interface Settled extends Recorded {
  /** False if the hold was no longer the entry's own. */
  readonly moved: boolean;
}

/** A capture, void or refund of a payment that exists, as it is asked for. */
export interface FollowUp {
  readonly merchantId: string;
  readonly paymentId: string;
  readonly idempotencyKey: string;
  readonly fingerprint: { readonly version: number; readonly digest: Buffer };
  readonly operation: FollowUpOperation;
  /** Null: all that remains. */
  readonly amountMinor: number | null;
  readonly currency: string | null;
  /** The payment must stand at this version, if it is given. */
  readonly expectedVersion: number | null;
  /** The arguments as they came, to tell a later caller where his own differ. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly psp: string;
}

export type FollowUpOpened =
  | { readonly kind: 'opened'; readonly hold: Hold }
  | ({ readonly kind: 'exists' } & Recorded)
  | { readonly kind: 'refused'; readonly refusal: Refusal };

/**
 * T1 of follow-ups: the entry and the reservation of its amount in one statement, so that whatever
 * runs at once, what is captured or refunded, on its way or in doubt never exceeds what there is.
 */
export interface FollowUpJournal {
  open(followUp: FollowUp): Promise<FollowUpOpened>;
  /** For an entry that is FAILED with source NOT_SENT: reserves again; attempt + 1, same PSP key. */
  reopen(recorded: Recorded): Promise<FollowUpOpened>;
  /** Takes over the payment's first entry if it is without an outcome and due. */
  takeOverFirst(payment: Payment): Promise<Doubt | undefined>;
}

/** The database did not answer in time or at all; what the statement did is not known. */
export class JournalUnavailable extends Error {
  override readonly name = 'JournalUnavailable';
}

/** How a payment is looked for; exactly one way. */
export type PaymentLookup =
  | { readonly by: 'transactionId' | 'idempotencyKey' | 'pspReference'; readonly value: string }
  | { readonly by: 'id'; readonly value: string };

export interface PageRequest {
  readonly first: number;
  /** The id of the last one the caller has seen. */
  readonly after: string | undefined;
}

/** Which payments; all members that are there must be met. */
export interface PaymentFilter {
  readonly status?: readonly PaymentStatus[] | undefined;
  readonly currency?: string | undefined;
  readonly amountMin?: number | undefined;
  readonly amountMax?: number | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  readonly transactionId?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

export interface PaymentPageRequest extends PageRequest {
  readonly filter?: PaymentFilter;
  /** Newest first if left out. */
  readonly oldestFirst?: boolean;
}

/** Reads for callers. Payments that were never sent are not shown. Throws `JournalUnavailable`. */
export interface PaymentReader {
  /** In the order of the ids; undefined where the merchant has no such payment. */
  byIds(merchantId: string, ids: readonly string[]): Promise<readonly (Payment | undefined)[]>;
  find(merchantId: string, lookup: PaymentLookup): Promise<Payment | undefined>;
  /** One more than asked for, if there is one. */
  page(merchantId: string, request: PaymentPageRequest): Promise<readonly Payment[]>;
  entryByKey(merchantId: string, key: string): Promise<Recorded | undefined>;
}
