/**
 * One thing a caller wants done once. `scope` is the tenant (a merchant id), `key` the caller's
 * idempotency key, compared byte by byte. Two intents are the same only if both parts are.
 */
export interface Intent {
  readonly scope: string;
  readonly key: string;
}

/** What a caller shows when it asks for an intent. `token` is random and proves ownership later. */
export interface Ask {
  readonly intent: Intent;
  readonly fingerprint: string;
  readonly token: string;
}

/** A claim that was won. Settle and release act only while the store still holds this token. */
export type Lease = Ask;

/** What a store says of a claim. */
export type Verdict =
  | { readonly kind: 'run' }
  | { readonly kind: 'replay'; readonly answer: string }
  | { readonly kind: 'busy'; readonly retryAfterMs: number }
  | {
      readonly kind: 'mismatch';
      readonly fingerprint: string;
      /** True if nothing is answered yet: whoever holds the key now need not be who used it first. */
      readonly held: boolean;
    };

/**
 * The first door: sheds retry storms and answers replays. Losing it costs time, never money.
 *
 * Every method may throw; the engine then goes on without the store (see `once.ts`). Every method
 * is one atomic step, and each compares the token, so a resent command cannot refuse its own owner.
 */
export interface Store {
  /** Free → ours for `leaseMs`; ours already → ours; another's → busy; answered → the answer. */
  claim(ask: Ask, leaseMs: number): Promise<Verdict>;
  /**
   * Keeps the answer for `ttlMs` in place of the lease. False if the lease is no longer ours.
   *
   * @throws RangeError if the answer is longer than this store keeps
   */
  settle(lease: Lease, answer: string, ttlMs: number): Promise<boolean>;
  /** Gives the lease back. False if it is no longer ours. */
  release(lease: Lease): Promise<boolean>;
  /** Returns when the intent may have changed, at the latest after `timeoutMs`. */
  wait(intent: Intent, timeoutMs: number): Promise<void>;
}

/** A name that no two different intents share, whatever characters they are made of. */
export function intentId(intent: Intent): string {
  return `${intent.scope.length}:${intent.scope}${intent.key}`;
}
