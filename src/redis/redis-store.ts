import type { Ask, Intent, Lease, Store, Verdict } from '../idempotency/index.ts';
import type { RedisConnections } from './connect.ts';
import {
  answeredEntry,
  channelOf,
  FORMAT,
  heldEntry,
  heldPrefix,
  intentHash,
  keyOf,
} from './entry.ts';
import { Owed } from './owed.ts';
import { evaluate, SCRIPTS, type Script, type Scripts } from './scripts.ts';
import { type Step, Steps } from './steps.ts';
import { isRefusal, StoreUnavailable } from './store-unavailable.ts';
import { WaitingRoom } from './waiting-room.ts';

export interface RedisStoreOptions {
  /** The most one step may take, in ms. */
  readonly budgetMs?: number;
  /** So many failures in a row, and Redis is left alone for `breakerOpenMs`. */
  readonly breakerFailures?: number;
  readonly breakerOpenMs?: number;
  /** The largest entry that is written or believed, in bytes; an answer and some 300 bytes. */
  readonly maxEntryBytes?: number;
  /** How many callers may wait on subscriptions at once; more wait by timer. */
  readonly maxWaiters?: number;
  /** Other texts of the scripts; for tests that plant faults. */
  readonly scripts?: Partial<Scripts>;
  /** Told of every step that failed; it must not throw. */
  readonly onError?: (error: StoreUnavailable) => void;
}

/** Fewer bytes than any answer worth keeping in a cache; ids and decisions need a few hundred. */
const MAX_ENTRY_BYTES = 64 * 1_024;

/**
 * The first door in Redis, shared by all processes. Each verb is one script on one key that compares
 * the token inside. Whatever is wrong with Redis, a step ends within its budget: `StoreUnavailable`.
 */
export class RedisStore implements Store {
  readonly #connections: RedisConnections;
  readonly #steps: Steps;
  readonly #scripts: Scripts;
  readonly #waitingRoom: WaitingRoom;
  readonly #owed = new Owed();
  readonly #maxEntryBytes: number;
  readonly #onError: (error: StoreUnavailable) => void;

  /** The store closes the connections when it is closed. */
  constructor(connections: RedisConnections, options: RedisStoreOptions = {}) {
    this.#connections = connections;
    this.#steps = new Steps(connections.commands, {
      budgetMs: options.budgetMs ?? 100,
      failuresToOpen: options.breakerFailures ?? 5,
      openMs: options.breakerOpenMs ?? 1_000,
    });
    this.#scripts = { ...SCRIPTS, ...options.scripts };
    this.#maxEntryBytes = options.maxEntryBytes ?? MAX_ENTRY_BYTES;
    this.#onError = options.onError ?? (() => {});
    this.#waitingRoom = new WaitingRoom({
      subscriber: connections.subscriber,
      maxWaiters: options.maxWaiters ?? 10_000,
    });
  }

  /** @throws StoreUnavailable */
  async claim(ask: Ask, leaseMs: number): Promise<Verdict> {
    const { token, fingerprint } = ask;
    const hash = intentHash(ask.intent);
    const args = [token, fingerprint, whole(leaseMs), heldEntry(hash, ask), this.#maxEntryBytes];
    this.#owed.forget(token);
    try {
      return verdict(await this.#take(this.#script(this.#scripts.claim, hash, args)));
    } catch (error) {
      // Perhaps it was granted and nobody will use it.
      if (isInDoubt(error)) this.#owed.note(token, () => this.#release(ask));
      throw error;
    }
  }

  /**
   * @throws StoreUnavailable; then the answer is put in place later, if the lease is still ours
   * @throws RangeError if the answer is too long to be kept
   */
  async settle(lease: Lease, answer: string, ttlMs: number): Promise<boolean> {
    const entry = answeredEntry(intentHash(lease.intent), lease, answer);
    const bytes = Buffer.byteLength(entry);
    if (bytes > this.#maxEntryBytes) {
      throw new RangeError(
        `The answer is too long to be kept: ${bytes} bytes, ${this.#maxEntryBytes} at most.`,
      );
    }
    return this.#orOwe(lease, () => this.#settle(lease, entry, ttlMs));
  }

  /** @throws StoreUnavailable; then the lease is given back later */
  async release(lease: Lease): Promise<boolean> {
    return this.#orOwe(lease, () => this.#release(lease));
  }

  /** Returns early when the intent is settled or released. Trouble with Redis makes it a timer. */
  async wait(intent: Intent, timeoutMs: number): Promise<void> {
    const hash = intentHash(intent);
    await this.#waitingRoom.wait(channelOf(hash), timeoutMs, () => this.#isHeld(hash));
  }

  /** Lets who waits go and ends the connections; every later step throws `StoreUnavailable`. */
  close(): void {
    this.#owed.close();
    this.#waitingRoom.close();
    this.#connections.close();
  }

  async #settle(lease: Lease, entry: string, ttlMs: number): Promise<boolean> {
    const hash = intentHash(lease.intent);
    const args = [lease.token, entry, whole(ttlMs), channelOf(hash), this.#maxEntryBytes];
    return (await this.#take(this.#script(this.#scripts.settle, hash, args))) === 1;
  }

  async #release(lease: Lease): Promise<boolean> {
    const hash = intentHash(lease.intent);
    const args = [lease.token, channelOf(hash), this.#maxEntryBytes];
    return (await this.#take(this.#script(this.#scripts.release, hash, args))) === 1;
  }

  async #orOwe(lease: Lease, step: () => Promise<boolean>): Promise<boolean> {
    try {
      const done = await step();
      this.#owed.forget(lease.token);
      return done;
    } catch (error) {
      this.#owed.note(lease.token, step);
      throw error;
    }
  }

  async #isHeld(hash: string): Promise<boolean> {
    const prefix = heldPrefix(hash);
    const start = await this.#steps.take((client) =>
      client.getrange(keyOf(hash), 0, prefix.length - 1).catch(emptyIfRefused),
    );
    return start === prefix;
  }

  #script(script: Script, hash: string, args: (string | number)[]): Step<unknown> {
    return evaluate(script, keyOf(hash), [FORMAT, hash, ...args]);
  }

  async #take(step: Step<unknown>): Promise<unknown> {
    try {
      const reply = await this.#steps.take(step);
      void this.#owed.pay();
      return reply;
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#onError(error);
      throw error;
    }
  }
}

function verdict(reply: unknown): Verdict {
  if (Array.isArray(reply)) {
    const [kind, told, entry] = reply as unknown[];
    if (kind === 'run') return { kind };
    if (kind === 'replay' && typeof told === 'string') return { kind, answer: told };
    if (kind === 'busy') return { kind, retryAfterMs: Math.max(1, Number(told)) };
    if (kind === 'mismatch' && typeof told === 'string') {
      return { kind, fingerprint: told, held: entry === 'held' };
    }
  }
  throw new StoreUnavailable('UNEXPECTED_REPLY', true);
}

/** Redis takes whole milliseconds, at least one. */
function whole(ms: number): number {
  return Math.max(1, Math.ceil(ms));
}

function isInDoubt(error: unknown): boolean {
  return error instanceof StoreUnavailable && error.inDoubt;
}

/** A key of another type is refused by Redis; it is certainly not a lease. */
function emptyIfRefused(error: unknown): string {
  if (isRefusal(error) && error.message.startsWith('WRONGTYPE')) return '';
  throw error;
}
