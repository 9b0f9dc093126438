import { NotRun } from './not-run.ts';

/** Lets so many in at once; the others wait in line, each no longer than it can. */
export class Gate {
  readonly #places: number;
  readonly #maxWaiting: number;
  readonly #line = new Set<() => void>();
  #inside = 0;

  constructor(places: number, maxWaiting: number) {
    this.#places = places;
    this.#maxWaiting = maxWaiting;
  }

  /** Whoever was let in must `leave`. @throws NotRun if the line is too long or the time is up */
  async enter(withinMs: number): Promise<void> {
    if (this.#inside < this.#places) {
      this.#inside += 1;
      return;
    }
    if (this.#line.size >= this.#maxWaiting) throw new NotRun('Too much waits for the database.');
    await new Promise<void>((resolve, reject) => {
      const letIn = () => {
        clearTimeout(timer);
        resolve();
      };
      const giveUp = () => {
        if (!this.#line.delete(letIn)) return;
        reject(new NotRun('The line before the database was too long.'));
      };
      // If this process was too busy to look, the place may be free by now.
      const timer = setTimeout(() => setImmediate(giveUp), Math.max(0, withinMs));
      this.#line.add(letIn);
    });
  }

  /** The place goes to the one who has waited longest. */
  leave(): void {
    const [next] = this.#line;
    if (next === undefined) {
      this.#inside -= 1;
      return;
    }
    this.#line.delete(next);
    next();
  }
}
