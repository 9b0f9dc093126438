import type { ServerResponse } from 'node:http';
import { EventStream } from './event-stream.ts';

/** Whose stream it is. */
export interface Listener {
  readonly merchantId: string;
  /** The API key. */
  readonly key: string;
}

export interface StreamsOptions {
  /** How many streams this process holds open. */
  readonly most: number;
  readonly mostOfMerchant: number;
  /** Rejects if it cannot be found out now. */
  readonly isValid: (key: string) => Promise<boolean>;
  readonly beatMs?: number;
  /** How often the keys of open streams are looked at, in ms. */
  readonly checkMs?: number;
}

/** Signs of life that a client may leave untaken before it is cut off. */
const PATIENCE = 4;
const REVOKED = JSON.stringify({
  errors: [
    {
      message: 'This API key is not valid any longer.',
      extensions: { code: 'UNAUTHENTICATED', retryable: false, safeToRetryWithSameKey: true },
    },
  ],
});

/** The streams of this process: how many there may be, their signs of life, and their end. */
export class Streams {
  readonly #options: StreamsOptions;
  readonly #open = new Map<EventStream, Listener>();
  readonly #timers: readonly NodeJS.Timeout[];
  #closed = false;

  constructor(options: StreamsOptions) {
    const { beatMs = 15_000, checkMs = 2_000 } = options;
    this.#options = options;
    this.#timers = [
      setInterval(() => this.#beat(), beatMs).unref(),
      setInterval(() => void this.#checkKeys(), checkMs).unref(),
    ];
  }

  get size(): number {
    return this.#open.size;
  }

  /** @returns a stream that has its place until it ends, or what there is too much of */
  enter(listener: Listener, response: ServerResponse): EventStream | 'process' | 'merchant' {
    if (this.#closed || this.#open.size >= this.#options.most) return 'process';
    if (this.#countOf(listener.merchantId) >= this.#options.mostOfMerchant) return 'merchant';
    const stream = new EventStream(response);
    this.#open.set(stream, listener);
    stream.signal.addEventListener('abort', () => this.#open.delete(stream), { once: true });
    return stream;
  }

  /** Cuts all of them off; their clients go on elsewhere. No other may come. */
  close(): void {
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    for (const stream of [...this.#open.keys()]) stream.cut();
  }

  #countOf(merchantId: string): number {
    let count = 0;
    for (const listener of this.#open.values()) if (listener.merchantId === merchantId) count += 1;
    return count;
  }

  #beat(): void {
    for (const stream of [...this.#open.keys()]) stream.beat(PATIENCE);
  }

  /** What cannot be found out now is found out later. */
  async #checkKeys(): Promise<void> {
    const keys = [...new Set([...this.#open.values()].map(({ key }) => key))];
    const { isValid } = this.#options;
    const valid = await Promise.all(keys.map((key) => isValid(key).catch(() => true)));
    const gone = new Set(keys.filter((_, index) => valid[index] === false));
    if (gone.size === 0) return;
    for (const [stream, { key }] of [...this.#open]) if (gone.has(key)) stream.complete(REVOKED);
  }
}
