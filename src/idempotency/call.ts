import type { Intent } from './store.ts';

/**
 * What the work ended in. `open` means that the outcome is not known yet and that a journal holds
 * it; `released` is a proof that nothing happened, so the same key may try again; `busy` and
 * `mismatch` are what a journal, the second door, says of the key.
 */
export type Result<A> =
  | {
      readonly kind: 'done';
      readonly answer: A;
      /** False if the journal had the answer already. */
      readonly first: boolean;
    }
  | { readonly kind: 'open' | 'released'; readonly answer: A }
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  | { readonly kind: 'mismatch'; readonly fingerprint: string };

/** How an answer came about; the same words as the GraphQL enum `IdempotencyOutcome`. */
export type How = 'EXECUTED' | 'REPLAYED' | 'JOINED' | 'IN_DOUBT';

/** What a call ended in. `unavailable`: certainly nothing happened. `unknown`: nothing can tell. */
export type Ending<A> =
  | { readonly kind: 'answered'; readonly how: How; readonly answer: A }
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  | { readonly kind: 'unavailable'; readonly retryAfterMs: number }
  | { readonly kind: 'mismatch'; readonly fingerprint: string }
  | { readonly kind: 'unknown' };

export interface Call<A> {
  readonly intent: Intent;
  readonly fingerprint: string;
  /** What a duplicate of a running call gets: its answer after a bounded wait, or a refusal. */
  readonly onInFlight: 'JOIN' | 'REFUSE';
  /** How long the answer is kept for replays, in ms. */
  readonly answerTtlMs?: number | undefined;
  work(): Promise<Result<A>>;
  /** What the journal has, without doing anything; asked while another holds the store's lease. */
  look?(): Promise<Result<A> | undefined>;
}
