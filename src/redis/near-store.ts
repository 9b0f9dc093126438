import { LRUCache } from 'lru-cache';
import {
  type Ask,
  decide,
  type Entry,
  type Intent,
  intentId,
  type Lease,
  type Store,
  type Verdict,
} from '../idempotency/index.ts';

/** The most answers, and characters of them in all, that are kept near. */
const MOST = { answers: 20_000, characters: 8_000_000 } as const;

type Answered = Extract<Entry, { readonly kind: 'answered' }>;

/**
 * A store that is far, with the answers of the last seconds in this process's memory: a storm of
 * retries takes a step of the far store now and then, and not one for each. An answer never changes,
 * so an old one is as good; who holds an intent that is not answered yet is always the far store's to
 * say.
 */
export class NearStore implements Store {
  readonly #far: Store;
  readonly #nearMs: number;
  readonly #now: () => number;
  readonly #answers = new LRUCache<string, Answered>({
    max: MOST.answers,
    maxSize: MOST.characters,
    sizeCalculation: ({ answer }) => answer.length + 1,
  });

  /**
   * @param nearMs how long an answer is kept near, in ms; by as much may the far store's own time be
   *   passed
   * @param now monotonic time in ms
   */
  constructor(far: Store, nearMs: number, now: () => number = () => performance.now()) {
    this.#far = far;
    this.#nearMs = nearMs;
    this.#now = now;
  }

  async claim(ask: Ask, leaseMs: number): Promise<Verdict> {
    const near = decide(this.#answers.get(intentId(ask.intent)), ask, this.#now());
    if (near.kind !== 'run') return near;
    const verdict = await this.#far.claim(ask, leaseMs);
    if (verdict.kind === 'replay') this.#keep(ask, verdict.answer, this.#nearMs);
    return verdict;
  }

  async settle(lease: Lease, answer: string, ttlMs: number): Promise<boolean> {
    const settled = await this.#far.settle(lease, answer, ttlMs);
    if (settled) this.#keep(lease, answer, Math.min(ttlMs, this.#nearMs));
    return settled;
  }

  release(lease: Lease): Promise<boolean> {
    return this.#far.release(lease);
  }

  wait(intent: Intent, timeoutMs: number): Promise<void> {
    return this.#far.wait(intent, timeoutMs);
  }

  #keep({ intent, fingerprint }: Ask, answer: string, ms: number): void {
    const endsAt = this.#now() + ms;
    this.#answers.set(intentId(intent), { kind: 'answered', fingerprint, answer, endsAt });
  }
}
