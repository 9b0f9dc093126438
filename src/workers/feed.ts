import type { EventFeed, EventLine, Events, KnownVersion, LineEnd } from '../payments/index.ts';
import { Line } from './line.ts';
import { type Loop, startLoop } from './loop.ts';

export interface FeedOptions {
  readonly events: Pick<Events, 'after' | 'lasts' | 'changed'>;
  /** How often the database is asked, if nobody says sooner that there is something, in ms. */
  readonly everyMs: number;
  /** How many events one read may bring. */
  readonly pageSize: number;
  readonly onError: (error: unknown) => void;
}

/** How long what is said to be there may gather before it is looked for, in ms. */
const GATHER_MS = 20;

interface Waiting {
  readonly known: KnownVersion;
  readonly wake: () => void;
}

/**
 * One look at the database for all who wait in this process, about once a second and whenever it is
 * told that there is something; none while nobody waits. What it is told is not believed: it looks.
 */
export class Feed implements EventFeed {
  readonly #options: FeedOptions;
  readonly #lines = new Map<string, Line>();
  readonly #waiting = new Set<Waiting>();
  readonly #loop: Loop;

  constructor(options: FeedOptions) {
    const { everyMs, onError } = options;
    this.#options = options;
    this.#loop = startLoop({
      everyMs,
      onError,
      gatherMs: GATHER_MS,
      run: async () => {
        await Promise.all([this.#lookAtLines(), this.#lookAtPayments()]);
        return false;
      },
    });
  }

  /** Some lines are said to reach that far. */
  wake(ends: readonly LineEnd[]): void {
    const isNews = ends.some(({ merchantId, position }) => {
      const line = this.#lines.get(merchantId);
      return line !== undefined && position > line.position;
    });
    const merchants = new Set(ends.map(({ merchantId }) => merchantId));
    const concerned = [...this.#waiting].some(({ known }) => merchants.has(known.merchantId));
    if (isNews || concerned) this.#loop.soon();
  }

  open(merchantId: string): EventLine {
    const { events, pageSize } = this.#options;
    const line =
      this.#lines.get(merchantId) ??
      new Line((position) => events.after(merchantId, position, pageSize));
    this.#lines.set(merchantId, line);
    return line.join(() => this.#lines.delete(merchantId));
  }

  newer(known: KnownVersion, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(waiting);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const waiting: Waiting = { known, wake };
      if (signal.aborted) return resolve();
      this.#waiting.add(waiting);
      signal.addEventListener('abort', wake);
    });
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #lookAtLines(): Promise<void> {
    if (this.#lines.size === 0) return;
    const ends = await this.#options.events.lasts([...this.#lines.keys()]);
    for (const { merchantId, position } of ends) this.#lines.get(merchantId)?.reaches(position);
  }

  async #lookAtPayments(): Promise<void> {
    if (this.#waiting.size === 0) return;
    const byKnown = new Map<KnownVersion, () => void>();
    for (const { known, wake } of this.#waiting) byKnown.set(known, wake);
    const changed = await this.#options.events.changed([...byKnown.keys()]);
    for (const known of changed) byKnown.get(known)?.();
  }
}
