import type { Clock } from '../../../src/idempotency/index.ts';

/** Picks one of `count` ways to go on. */
export type Choose = (count: number) => number;

/** An effect that waits for its turn, or a reply on its way back. */
interface Parked {
  readonly actor: string;
  readonly what: string;
  readonly dueAt: number;
  readonly go: () => void;
}

/** The same numbers for the same seed (mulberry32). */
export function chooseBySeed(seed: number): Choose {
  let state = seed >>> 0;
  return (count) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
  };
}

/**
 * Virtual time, and the order of everything: each effect and each reply is parked, and the chooser
 * says which of those that are due goes on. Time moves only when nothing is due.
 */
export class Scheduler {
  readonly #notes: (readonly [at: number, actor: string, what: string])[] = [];
  readonly #choose: Choose;
  #parked: Parked[] = [];
  #now = 0;

  constructor(choose: Choose) {
    this.#choose = choose;
  }

  now(): number {
    return this.#now;
  }

  /** True with the chance of one in `count`, as the chooser decides. */
  oneIn(count: number): boolean {
    return this.#choose(count) === count - 1;
  }

  pick<T>(all: readonly T[]): T {
    return all[this.#choose(all.length)] as T;
  }

  note(actor: string, what: string): void {
    this.#notes.push([this.#now, actor, what]);
  }

  get timeline(): readonly string[] {
    return this.#notes.map(([at, actor, what]) => `${at} ms  ${actor}  ${what}`);
  }

  /** Returns when this actor's turn comes, at the earliest after `ms`. */
  turn(actor: string, what: string, ms = 0): Promise<void> {
    return new Promise((go) => {
      this.#parked.push({ actor, what, dueAt: this.#now + ms, go });
    });
  }

  /** What the actor was about to do never happens, and it never goes on. */
  kill(actor: string): void {
    this.note(actor, 'dies');
    this.#parked = this.#parked.filter((one) => one.actor !== actor);
  }

  /** The actor does nothing for so long. */
  pause(actor: string, ms: number): void {
    this.note(actor, `stands still for ${ms} ms`);
    this.#parked = this.#parked.map((one) =>
      one.actor === actor ? { ...one, dueAt: Math.max(one.dueAt, this.#now + ms) } : one,
    );
  }

  clockOf(actor: () => string): Clock {
    return {
      now: () => this.#now,
      sleep: (ms, woken) => {
        const slept = this.turn(actor(), 'wakes', ms);
        return woken === undefined ? slept : Promise.race([slept, woken]);
      },
    };
  }

  /** Goes on until nothing is parked or `done` says so. `state` is asked before every choice. */
  async run(done: () => boolean, mostSteps: number, seen?: () => boolean): Promise<boolean> {
    for (let step = 0; step < mostSteps; step += 1) {
      await settled();
      if (done()) return true;
      if (this.#parked.length === 0) return false;
      const soonest = Math.min(...this.#parked.map(({ dueAt }) => dueAt));
      this.#now = Math.max(this.#now, soonest);
      if (seen?.()) return true;
      const due = this.#parked.filter(({ dueAt }) => dueAt <= this.#now);
      const next = this.pick(due);
      this.#parked = this.#parked.filter((one) => one !== next);
      next.go();
    }
    return false;
  }

  /** What is parked, for telling states apart. */
  describe(): string {
    return this.#parked
      .map(({ actor, what, dueAt }) => `${actor} ${what} ${dueAt}`)
      .sort()
      .join('|');
  }
}

/**
 * Returns when every promise that could go on has done so: a tick that is asked for by a microtask comes
 * when no microtask is left. Nothing here waits for the system, and so the loop need not turn.
 */
function settled(): Promise<void> {
  return new Promise((resolve) => {
    queueMicrotask(() => process.nextTick(resolve));
  });
}
