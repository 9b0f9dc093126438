/** What went wrong, in the server's words or in ours. More codes may come: keep a default branch. */
export interface Problem {
  readonly code: string;
  readonly message: string;
}

/** A refused request: nothing is said about money, only about the request. */
export interface Refusal extends Problem {
  /** When the same request may be sent again, in ms. */
  readonly retryAfterMs?: number | undefined;
  /** All that the server said beside the message. */
  readonly extensions?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * All that can have become of an intent. Close a `switch` over `kind` with `unreachable`, and the
 * compiler names the case that is missing.
 *
 * - `settled`: it was done. `replayed` says that an earlier request did it.
 * - `declined`: it ended without effect; the next submit of the scope is a new attempt.
 * - `rejected`: the request was refused. The key is kept, and nothing was done by it.
 * - `processing`: the server has it and does not know its outcome yet.
 * - `unknown`: nobody could be asked; it may have been done. `resume` asks again with the same key.
 * - `blocked`: an earlier request of the scope, with other parameters, has to be settled first.
 */
export type Outcome<Ok, P extends Problem = Problem> =
  | {
      readonly kind: 'settled';
      readonly value: Ok;
      readonly replayed: boolean;
      readonly key: string;
    }
  | { readonly kind: 'declined'; readonly problem: P; readonly key: string }
  | { readonly kind: 'rejected'; readonly problem: P | Refusal; readonly key: string }
  | {
      readonly kind: 'processing';
      readonly key: string;
      readonly problem?: P | Refusal | undefined;
      /** Asks again and again, ever slower, until there is an outcome or `signal` aborts. */
      follow(signal?: AbortSignal): Promise<Outcome<Ok, P>>;
    }
  | {
      readonly kind: 'unknown';
      /** Empty if no key was known when the call was aborted. */
      readonly key: string;
      readonly since: Date;
      /** How often the request was sent under this key. */
      readonly attempts: number;
      readonly cause: unknown;
      resume(signal?: AbortSignal): Promise<Outcome<Ok, P>>;
    }
  | {
      readonly kind: 'blocked';
      readonly unsettledKey: string;
      /** Finds out what became of the earlier request; it sends no payment if it can be looked up. */
      settleFirst(signal?: AbortSignal): Promise<Outcome<Ok, P>>;
    };

/** What the server's data mean; an operation's `read` makes it. */
export type Verdict<Ok = unknown, P extends Problem = Problem> =
  | { readonly is: 'settled'; readonly value: Ok; readonly replayed: boolean }
  | {
      readonly is: 'processing';
      readonly pollAfterMs?: number | undefined;
      readonly problem?: P | undefined;
    }
  /** Final, and without effect. */
  | { readonly is: 'declined'; readonly problem: P }
  /** Refused without a trace of the key. */
  | { readonly is: 'rejected'; readonly problem: P }
  /** Certainly nothing was done yet; the same request with the same key may do it. */
  | { readonly is: 'notSent'; readonly problem: P; readonly retryAfterMs: number }
  /** The server has never seen the key. Look-ups only. */
  | { readonly is: 'absent' };

/** Takes what cannot be: the `default` branch of a complete `switch`. */
export function unreachable(never: never): never {
  throw new TypeError(`Unknown case: ${JSON.stringify(never)}`);
}
