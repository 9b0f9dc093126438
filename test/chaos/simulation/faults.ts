import type { Scheduler } from './scheduler.ts';

/** How many of each fault a run may have, and how likely each is (one in so many). */
export interface FaultPlan {
  deaths: number;
  pauses: number;
  losses: number;
  readonly deathOdds: number;
  readonly pauseOdds: number;
  readonly lossOdds: number;
  /** How long a reply may take, in ms. */
  readonly latenciesMs: readonly number[];
}

export const STORM: FaultPlan = {
  deaths: 4,
  pauses: 4,
  losses: 12,
  deathOdds: 40,
  pauseOdds: 30,
  lossOdds: 8,
  latenciesMs: [0, 0, 1, 40, 3_000],
};

/** What the exhaustive model allows: one crash and one lost reply, at any place. */
export const ONE_OF_EACH: FaultPlan = {
  deaths: 1,
  pauses: 0,
  losses: 1,
  deathOdds: 2,
  pauseOdds: 2,
  lossOdds: 2,
  latenciesMs: [0],
};

const PAUSES_MS = [1_000, 25_000, 45_000] as const;

/** A process that effects are done for; once dead it never goes on. */
export interface Doer {
  readonly name: string;
  dead: boolean;
  /** Told at its death, so that its callers see the connection break. */
  onDeath: Set<() => void>;
  /** Every reply it got, which is all that its state can depend on. */
  seen: string;
}

export const newDoer = (name: string): Doer => ({
  name,
  dead: false,
  onDeath: new Set(),
  seen: '',
});

export class Faults {
  readonly hits = new Map<string, number>();
  healed = false;
  readonly #scheduler: Scheduler;
  readonly #plan: FaultPlan;

  readonly #traces: boolean;

  /** @param traces whether a process's replies are kept, for telling states apart */
  constructor(scheduler: Scheduler, plan: FaultPlan, traces: boolean) {
    this.#traces = traces;
    this.#scheduler = scheduler;
    this.#plan = { ...plan };
  }

  /**
   * One effect of a process: its turn, the effect, its reply; between them the process may die or
   * stand still, and the reply or the effect itself may be lost.
   */
  async effect<T>(
    doer: Doer,
    what: string,
    act: () => T | Promise<T>,
    lost: (done: boolean) => T,
  ): Promise<T> {
    const { name } = doer;
    await this.#scheduler.turn(name, what);
    await this.#between(doer, `before ${what}`);
    const loss = this.#strikes('losses', what);
    const done = !loss || this.#scheduler.oneIn(2);
    let result: T | undefined;
    if (done) result = await act();
    this.#scheduler.note(
      name,
      `${what}${loss ? (done ? ' (reply lost)' : ' (never arrives)') : ''}`,
    );
    await this.#scheduler.turn(name, `reply to ${what}`, this.#latency());
    await this.#between(doer, `after ${what}`);
    if (this.#traces) {
      const reply = loss ? `lost ${done}` : JSON.stringify(result);
      doer.seen += `${this.#scheduler.now()} ${what} ${reply};`;
    }
    return loss ? lost(done) : (result as T);
  }

  kill(doer: Doer): void {
    doer.dead = true;
    this.#scheduler.kill(doer.name);
    for (const tell of doer.onDeath) tell();
  }

  describe(): string {
    const { deaths, pauses, losses } = this.#plan;
    return `${deaths} ${pauses} ${losses} ${this.healed}`;
  }

  async #between(doer: Doer, where: string): Promise<void> {
    if (this.#strikes('deaths', where)) {
      this.kill(doer);
      await new Promise(() => {});
    }
    if (this.#strikes('pauses', where)) {
      const ms = this.#scheduler.pick(PAUSES_MS);
      this.#scheduler.pause(doer.name, ms);
      await this.#scheduler.turn(doer.name, 'goes on', ms);
    }
  }

  #strikes(fault: 'deaths' | 'pauses' | 'losses', where: string): boolean {
    if (this.healed || this.#plan[fault] === 0) return false;
    const odds = { deaths: 'deathOdds', pauses: 'pauseOdds', losses: 'lossOdds' } as const;
    if (!this.#scheduler.oneIn(this.#plan[odds[fault]])) return false;
    this.#plan[fault] -= 1;
    const cell = `${fault} ${where}`;
    this.hits.set(cell, (this.hits.get(cell) ?? 0) + 1);
    return true;
  }

  #latency(): number {
    const { latenciesMs } = this.#plan;
    return this.healed || latenciesMs.length === 1 ? 0 : this.#scheduler.pick(latenciesMs);
  }
}
