import { randomUUID } from 'node:crypto';
import { asKept, decode, encode, UNKNOWN } from './answer.ts';
import type { Call, Ending, Result } from './call.ts';
import { type Clock, systemClock } from './clock.ts';
import { Flights } from './flights.ts';
import type { Intent, Lease, Store, Verdict } from './store.ts';

export interface OnceOptions {
  readonly store: Store;
  /** How long a claim holds without being settled, in ms. Longer than the work may take. */
  readonly leaseMs: number;
  readonly answerTtlMs: number;
  /** How long a duplicate waits for the first answer, in ms. */
  readonly joinWaitMs: number;
  /**
   * True if the work writes a journal with a uniqueness of its own (the second door). Then a lost
   * store is survivable and a throw leaves the decision to the journal. False means the store is
   * all there is: without it calls are refused, and a throw pins "outcome unknown" to the key.
   */
  readonly journaled: boolean;
  readonly maxWaitersPerKey?: number;
  readonly maxWaiters?: number;
  readonly clock?: Clock;
  /** Told of every store failure; it must not throw. */
  readonly onStoreError?: (error: unknown) => void;
}

/** Thrown by work that can prove it had no effect; the only throw that frees the key. */
export class NotExecuted extends Error {
  override readonly name = 'NotExecuted';
}

const POLL_MS = { first: 100, most: 1_000 } as const;
/** From this pause on a waiting call looks into the journal, too. */
const LOOK_FROM_MS = 400;
const UNAVAILABLE_RETRY_MS = 1_000;
const CONTESTED_RETRY_MS = 100;

type Claimed = Verdict | { readonly kind: 'no-store' };
type Turn<A> =
  | Exclude<Ending<A>, { kind: 'busy' }>
  | { readonly kind: 'busy'; readonly retryAfterMs: number; readonly by: 'store' | 'journal' };

/** Runs each intent's work once: claim, work, settle. One `Once` serves a process. */
export class Once {
  readonly #options: OnceOptions;
  readonly #clock: Clock;
  readonly #flights: Flights;

  constructor(options: OnceOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#flights = new Flights({
      maxPerKey: options.maxWaitersPerKey ?? 1_000,
      maxInAll: options.maxWaiters ?? 10_000,
      joinWaitMs: options.joinWaitMs,
      clock: this.#clock,
    });
  }

  /** @throws what the work threw; nothing of its own */
  run<A>(call: Call<A>): Promise<Ending<A>> {
    return this.#flights.share(call, () => this.#lead(call));
  }

  /** The plot: ask the store; run, or wait and ask again until the wait is used up. */
  async #lead<A>(call: Call<A>): Promise<Ending<A>> {
    const deadline = this.#clock.now() + this.#options.joinWaitMs;
    let pollMs: number = POLL_MS.first;
    for (let waited = false; ; waited = true) {
      const turn = await this.#turn(call, waited);
      if (turn.kind !== 'busy') return turn;
      const left = deadline - this.#clock.now();
      const last = call.onInFlight === 'REFUSE' || left <= 0;
      if (turn.by === 'store' && (last || pollMs > LOOK_FROM_MS)) {
        const seen = await this.#look(call);
        if (seen !== undefined) return seen;
      }
      if (last) return { kind: 'busy', retryAfterMs: turn.retryAfterMs };
      await this.#pause(call.intent, turn.by, Math.min(pollMs, left));
      pollMs = Math.min(pollMs * 2, POLL_MS.most);
    }
  }

  /** One claim and what follows from it. A new token each time: an old one may still be let go. */
  async #turn<A>(call: Call<A>, waited: boolean): Promise<Turn<A>> {
    const { intent, fingerprint } = call;
    const lease: Lease = { intent, fingerprint, token: randomUUID() };
    const claimed = await this.#claim(lease);
    switch (claimed.kind) {
      case 'busy':
        return { ...claimed, by: 'store' };
      case 'mismatch':
        return claimed.held
          ? this.#judge(call, claimed.fingerprint)
          : mismatch(claimed.fingerprint);
      case 'replay': {
        const kept = decode<A>(claimed.answer);
        if (kept.kind === 'answer') {
          return { kind: 'answered', how: waited ? 'JOINED' : 'REPLAYED', answer: kept.answer };
        }
        if (kept.kind === 'unknown') return { kind: 'unknown' };
        return this.#withoutLease(call, waited);
      }
      case 'no-store':
        return this.#withoutLease(call, waited);
      case 'run':
        return this.#conclude(call, lease, await this.#work(call, lease), waited);
    }
  }

  /**
   * What the journal has while the store still says busy: the holder may have died after it wrote
   * the answer, or could not tell the store.
   */
  async #look<A>(call: Call<A>): Promise<Ending<A> | undefined> {
    const seen = await call.look?.();
    if (seen === undefined || seen.kind === 'busy' || seen.kind === 'released') return undefined;
    const turn = await this.#conclude(call, undefined, seen, true);
    return turn.kind === 'busy' ? undefined : turn;
  }

  /**
   * Another payload holds the key. What has no outcome yet holds nothing in the store, so a wrong
   * payload may hold the key while a journal refuses it: if a journal knows the key, it says whose
   * payload is wrong.
   */
  async #judge<A>(call: Call<A>, fingerprint: string): Promise<Turn<A>> {
    const seen = await call.look?.();
    if (seen === undefined) return mismatch(fingerprint);
    if (seen.kind === 'busy' || seen.kind === 'released') {
      return { kind: 'busy', retryAfterMs: CONTESTED_RETRY_MS, by: 'store' };
    }
    return this.#conclude(call, undefined, seen, false);
  }

  async #withoutLease<A>(call: Call<A>, waited: boolean): Promise<Turn<A>> {
    if (!this.#options.journaled) {
      return { kind: 'unavailable', retryAfterMs: UNAVAILABLE_RETRY_MS };
    }
    return this.#conclude(call, undefined, await call.work(), waited);
  }

  async #work<A>(call: Call<A>, lease: Lease): Promise<Result<A>> {
    try {
      return await call.work();
    } catch (error) {
      if (error instanceof NotExecuted) await this.#release(lease);
      else if (!this.#options.journaled) await this.#keep(call, lease, UNKNOWN);
      throw error;
    }
  }

  async #conclude<A>(
    call: Call<A>,
    lease: Lease | undefined,
    result: Result<A>,
    waited: boolean,
  ): Promise<Turn<A>> {
    if (result.kind === 'done') {
      const text = encode(result.answer);
      await this.#keep(call, lease, text);
      const how = result.first ? 'EXECUTED' : waited ? 'JOINED' : 'REPLAYED';
      return { kind: 'answered', how, answer: asKept(text) };
    }
    await this.#release(lease);
    if (result.kind === 'busy') return { ...result, by: 'journal' };
    if (result.kind === 'mismatch') return result;
    const how = result.kind === 'open' ? 'IN_DOUBT' : 'EXECUTED';
    return { kind: 'answered', how, answer: asKept(encode(result.answer)) };
  }

  async #claim(lease: Lease): Promise<Claimed> {
    try {
      return await this.#options.store.claim(lease, this.#options.leaseMs);
    } catch (error) {
      this.#options.onStoreError?.(error);
      return { kind: 'no-store' };
    }
  }

  /** An answer too long for the store is not kept; where nothing else has it, that is. */
  async #keep<A>(call: Call<A>, lease: Lease | undefined, text: string): Promise<void> {
    const ttlMs = call.answerTtlMs ?? this.#options.answerTtlMs;
    const error = await this.#tell(lease, (held) => this.#options.store.settle(held, text, ttlMs));
    if (!(error instanceof RangeError)) return;
    if (this.#options.journaled) await this.#release(lease);
    else await this.#tell(lease, (held) => this.#options.store.settle(held, UNKNOWN, ttlMs));
  }

  async #release(lease: Lease | undefined): Promise<void> {
    await this.#tell(lease, (held) => this.#options.store.release(held));
  }

  /** A store that cannot be told forgets by itself when the lease ends: nothing is lost. */
  async #tell(lease: Lease | undefined, say: (held: Lease) => Promise<boolean>): Promise<unknown> {
    if (lease === undefined) return undefined;
    try {
      await say(lease);
      return undefined;
    } catch (error) {
      this.#options.onStoreError?.(error);
      return error;
    }
  }

  /** While the store's lease is another's it wakes us; what only the journal knows is polled. */
  async #pause(intent: Intent, by: 'store' | 'journal', ms: number): Promise<void> {
    if (by === 'journal') return this.#clock.sleep(ms);
    try {
      await this.#options.store.wait(intent, ms);
    } catch (error) {
      this.#options.onStoreError?.(error);
      await this.#clock.sleep(ms);
    }
  }
}

const mismatch = (fingerprint: string) => ({ kind: 'mismatch', fingerprint }) as const;
