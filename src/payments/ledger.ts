import type { Money } from './money.ts';
import type { JournalEntry } from './payment.ts';
import type { PageRequest } from './ports.ts';

/** The accounts of each merchant in each currency. */
export const ACCOUNTS = [
  'psp_clearing',
  'merchant_payable',
  'psp_fees',
  'refunds_in_doubt',
] as const;
export type Account = (typeof ACCOUNTS)[number];

/** One leg of a balanced entry. */
export interface Posting extends Money {
  readonly account: Account;
  readonly direction: 'DEBIT' | 'CREDIT';
  readonly createdAt: Date;
}

/** What is on an account: debits minus credits, which may be more than a number holds exactly. */
export interface Balance {
  readonly account: Account;
  readonly currency: string;
  readonly balanceMinor: bigint;
}

export interface Trial {
  readonly currency: string;
  readonly debitsMinor: bigint;
  readonly creditsMinor: bigint;
}

export interface LedgerHealth {
  readonly trials: readonly Trial[];
  /** Entries that moved money and have no postings. */
  readonly withoutPostings: number;
  readonly oldestInDoubt: Date | null;
  /** Entries with an outcome and without its event. */
  readonly withoutEvent: number;
  /** Events that nobody can read yet, ten seconds after they were written. */
  readonly withoutPosition: number;
}

export interface EntriesOfPayment extends PageRequest {
  readonly paymentId: string;
}

/** Reads of the journal for callers. Throws `JournalUnavailable`. */
export interface LedgerReader {
  /** In the order of the ids; undefined where the merchant has no such entry. */
  entriesByIds(
    merchantId: string,
    ids: readonly string[],
  ): Promise<readonly (JournalEntry | undefined)[]>;
  /** Newest first; one more than asked for, if there is one. */
  entries(merchantId: string, request: PageRequest): Promise<readonly JournalEntry[]>;
  /** For each request the entries of its payment, oldest first; one more than asked for. */
  entriesOf(
    merchantId: string,
    requests: readonly EntriesOfPayment[],
  ): Promise<readonly (readonly JournalEntry[])[]>;
  /** For each entry its postings in the order of their legs. */
  postingsOf(
    merchantId: string,
    entryIds: readonly string[],
  ): Promise<readonly (readonly Posting[])[]>;
  /** Every account of every currency that the merchant has postings in. */
  balances(merchantId: string, at: Date | null): Promise<readonly Balance[]>;
  health(merchantId: string): Promise<LedgerHealth>;
}
