import { type Clock, systemClock } from './clock.ts';
import { decide, type Entry } from './decide.ts';
import { type Ask, type Intent, intentId, type Lease, type Store, type Verdict } from './store.ts';

/** How many settled or lapsed entries may pile up before they are swept. */
const SWEEP_EVERY = 1_000;

/**
 * The store in this process's memory: the first door where there is no Redis, and the model that
 * every other store is tested against. It forgets everything with the process.
 */
export class MemoryStore implements Store {
  readonly #entries = new Map<string, Entry>();
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #clock: Clock;
  #claimsUntilSweep = SWEEP_EVERY;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async claim(ask: Ask, leaseMs: number): Promise<Verdict> {
    const now = this.#clock.now();
    this.#sweep(now);
    const id = intentId(ask.intent);
    const verdict = decide(this.#entries.get(id), ask, now);
    if (verdict.kind === 'run') {
      const { fingerprint, token } = ask;
      this.#entries.set(id, { kind: 'held', fingerprint, token, endsAt: now + leaseMs });
    }
    return verdict;
  }

  async settle(lease: Lease, answer: string, ttlMs: number): Promise<boolean> {
    if (!this.#owns(lease)) return false;
    const { fingerprint } = lease;
    const endsAt = this.#clock.now() + ttlMs;
    this.#entries.set(intentId(lease.intent), { kind: 'answered', fingerprint, answer, endsAt });
    this.#wake(lease.intent);
    return true;
  }

  async release(lease: Lease): Promise<boolean> {
    if (!this.#owns(lease)) return false;
    this.#entries.delete(intentId(lease.intent));
    this.#wake(lease.intent);
    return true;
  }

  async wait(intent: Intent, timeoutMs: number): Promise<void> {
    const id = intentId(intent);
    if (this.#entries.get(id)?.kind !== 'held') return;
    const waiters = this.#waiters.get(id) ?? new Set();
    this.#waiters.set(id, waiters);
    let wake = (): void => {};
    const woken = new Promise<void>((resolve) => {
      wake = resolve;
    });
    waiters.add(wake);
    await this.#clock.sleep(timeoutMs, woken);
    waiters.delete(wake);
    if (waiters.size === 0) this.#waiters.delete(id);
  }

  #owns(lease: Lease): boolean {
    const entry = this.#entries.get(intentId(lease.intent));
    return (
      entry?.kind === 'held' && entry.token === lease.token && entry.endsAt > this.#clock.now()
    );
  }

  #wake(intent: Intent): void {
    for (const wake of this.#waiters.get(intentId(intent)) ?? []) wake();
  }

  #sweep(now: number): void {
    this.#claimsUntilSweep -= 1;
    if (this.#claimsUntilSweep > 0) return;
    for (const [id, entry] of this.#entries) if (entry.endsAt <= now) this.#entries.delete(id);
    this.#claimsUntilSweep = Math.max(SWEEP_EVERY, this.#entries.size);
  }
}
