import type { EventLine, PaymentEvent } from '../payments/index.ts';

/** What the readers of one merchant's line in one process share. */
export class Line {
  readonly #read: (position: number) => Promise<readonly PaymentEvent[]>;
  /** Reads that were begun since the line was last seen to grow, by their place. */
  readonly #reads = new Map<number, Promise<readonly PaymentEvent[]>>();
  readonly #waiting = new Set<() => void>();
  #readers = 0;
  #growths = 0;
  #position = 0;

  constructor(read: (position: number) => Promise<readonly PaymentEvent[]>) {
    this.#read = read;
  }

  /** How far it was last seen to reach. */
  get position(): number {
    return this.#position;
  }

  reaches(position: number): void {
    if (position <= this.#position) return;
    this.#position = position;
    this.#growths += 1;
    this.#reads.clear();
    for (const wake of [...this.#waiting]) wake();
  }

  /** @param onEmpty told when the last reader has left */
  join(onEmpty: () => void): EventLine {
    const growths = () => this.#growths;
    let open = true;
    this.#readers += 1;
    return {
      get growths() {
        return growths();
      },
      after: (position) => this.#shared(position),
      grown: (since, signal) => this.#grown(since, signal),
      close: () => {
        if (open) this.#readers -= 1;
        if (open && this.#readers === 0) onEmpty();
        open = false;
      },
    };
  }

  /** Kept only while it is under way: nobody gets what was read before the line grew. */
  #shared(position: number): Promise<readonly PaymentEvent[]> {
    const known = this.#reads.get(position);
    if (known !== undefined) return known;
    const read = this.#read(position);
    const forget = (): void => {
      if (this.#reads.get(position) === read) this.#reads.delete(position);
    };
    this.#reads.set(position, read);
    read.then(forget, forget);
    return read;
  }

  #grown(since: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      if (this.#growths !== since || signal.aborted) return resolve();
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }
}
