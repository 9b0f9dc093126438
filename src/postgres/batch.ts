export interface BatchOptions<I, O> {
  /** One statement for many items; the answers in the items' order. */
  readonly run: (items: readonly I[]) => Promise<readonly O[]>;
  readonly maxItems: number;
  /** How many items may wait; one more is refused with `QueueFull`. */
  readonly maxWaiting: number;
  /** How many statements may be under way at once. */
  readonly slots: number;
  /** True for errors that every item would meet alike; after others each item is run alone. */
  readonly concernsAll: (error: unknown) => boolean;
}

/** Too much waits for the database already: nothing was done with this item. */
export class QueueFull extends Error {
  override readonly name = 'QueueFull';
}

interface Waiting<I, O> {
  readonly item: I;
  resolve(output: O): void;
  reject(error: unknown): void;
}

/**
 * Gathers what concurrent requests ask of the database into one statement and so into one commit.
 * At rest an item leaves on the next turn of the event loop; while all slots are busy, items gather.
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
    if (this.#waiting.length >= this.#options.maxWaiting) return Promise.reject(new QueueFull());
    return new Promise<O>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
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
    const { maxItems } = this.#options;
    const gathered = this.#waiting.slice(0, maxItems);
    this.#waiting = this.#waiting.slice(maxItems);
    this.#underWay += 1;
    void this.#together(gathered).finally(() => {
      this.#underWay -= 1;
      this.#schedule();
    });
    this.#schedule();
  }

  async #together(gathered: readonly Waiting<I, O>[]): Promise<void> {
    try {
      const outputs = await this.#options.run(gathered.map(({ item }) => item));
      for (const [index, { resolve }] of gathered.entries()) resolve(outputs[index] as O);
    } catch (error) {
      if (gathered.length === 1 || this.#options.concernsAll(error)) {
        for (const { reject } of gathered) reject(error);
        return;
      }
      for (const one of gathered) await this.#together([one]);
    }
  }
}
