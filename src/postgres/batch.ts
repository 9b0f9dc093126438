import { NotRun } from './not-run.ts';

export interface BatchOptions<I, O> {
  /** One statement for many items, within so many ms; the answers in the items' order. */
  readonly run: (items: readonly I[], budgetMs: number) => Promise<readonly O[]>;
  /** The most an item may wait, in ms; then it has at least half as long again. */
  readonly budgetMs: number;
  readonly maxItems: number;
  /** How many items may wait; one more is refused with `NotRun`. */
  readonly maxWaiting: number;
  /** How many statements may be under way at once. */
  readonly slots: number;
  /**
   * Items of one lane share a statement only if they are of one kind, and never if they are of none:
   * the later ones wait for the next statement.
   */
  readonly laneOf?: (item: I) => Lane;
  /** True for errors that every item would meet alike; after others the bad item is looked for. */
  readonly concernsAll: (error: unknown) => boolean;
}

export interface Lane {
  readonly name: string;
  readonly kind?: string | undefined;
}

interface Waiting<I, O> {
  readonly item: I;
  readonly endsAt: number;
  resolve(output: O): void;
  reject(error: unknown): void;
}

/**
 * Gathers what concurrent requests ask of the database into one statement and so into one commit.
 * At rest an item leaves on the next turn of the event loop; while all slots are busy, items gather.
 * An item whose time has passed while it waited is refused with `NotRun`.
 */
export class Batch<I, O> {
  readonly #options: BatchOptions<I, O>;
  #waiting: Waiting<I, O>[] = [];
  #underWay = 0;
  #scheduled = false;

  constructor(options: BatchOptions<I, O>) {
    this.#options = options;
  }

  add(item: I): Promise<O> {
    const { budgetMs, maxWaiting } = this.#options;
    if (this.#waiting.length >= maxWaiting) {
      return Promise.reject(new NotRun('Too much waits for the database.'));
    }
    return new Promise<O>((resolve, reject) => {
      this.#waiting.push({ item, endsAt: performance.now() + budgetMs, resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.length === 0) return;
    if (this.#underWay >= this.#options.slots) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    const gathered = this.#gather();
    this.#underWay += 1;
    void this.#together(gathered).finally(() => {
      this.#underWay -= 1;
      this.#schedule();
    });
    this.#schedule();
  }

  #gather(): Waiting<I, O>[] {
    const { maxItems, laneOf } = this.#options;
    const waiting = this.#waiting;
    if (laneOf === undefined) {
      this.#waiting = waiting.slice(maxItems);
      return waiting.slice(0, maxItems);
    }
    const lanes = new Map<string, string | undefined>();
    const gathered: Waiting<I, O>[] = [];
    this.#waiting = waiting.filter((one) => {
      if (gathered.length >= maxItems) return true;
      const { name, kind } = laneOf(one.item);
      if (lanes.has(name) && (kind === undefined || lanes.get(name) !== kind)) return true;
      lanes.set(name, kind);
      gathered.push(one);
      return false;
    });
    return gathered;
  }

  /** One bad item fails alone: a batch that is refused is halved until it is found. */
  async #together(gathered: readonly Waiting<I, O>[]): Promise<void> {
    const { run, budgetMs, concernsAll } = this.#options;
    const items = this.#inTime(gathered);
    const [first] = items;
    if (first === undefined) return;
    try {
      const outputs = await run(
        items.map(({ item }) => item),
        Math.max(first.endsAt - performance.now(), budgetMs / 2),
      );
      for (const [index, { resolve }] of items.entries()) resolve(outputs[index] as O);
    } catch (error) {
      if (items.length === 1 || concernsAll(error)) {
        for (const { reject } of items) reject(error);
        return;
      }
      const half = Math.ceil(items.length / 2);
      await this.#together(items.slice(0, half));
      await this.#together(items.slice(half));
    }
  }

  #inTime(gathered: readonly Waiting<I, O>[]): Waiting<I, O>[] {
    const now = performance.now();
    const late = gathered.filter(({ endsAt }) => endsAt < now);
    for (const { reject } of late) reject(new NotRun('It waited too long for the database.'));
    return gathered.filter(({ endsAt }) => endsAt >= now);
  }
}
