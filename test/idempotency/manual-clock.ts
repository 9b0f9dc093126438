import type { Clock } from '../../src/idempotency/index.ts';

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #now = 0;
  #sleepers: Sleeper[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number, woken?: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      const sleeper: Sleeper = { until: this.#now + ms, wake: resolve };
      this.#sleepers.push(sleeper);
      const wake = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        resolve();
      };
      woken?.then(wake, wake);
    });
  }

  /** How many are asleep. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  /** Moves on from one waking to the next, and lets each do what it wants to before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    for (;;) {
      await idle();
      const [next] = this.#sleepers
        .filter(({ until }) => until <= end)
        .sort((a, b) => a.until - b.until);
      if (next === undefined) break;
      this.#now = Math.max(this.#now, next.until);
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      next.wake();
    }
    this.#now = end;
    await idle();
  }
}

/** Returns when every promise that could go on has done so. */
export function idle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
