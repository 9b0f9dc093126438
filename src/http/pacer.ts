/**
 * Lets only so many requests begin in one turn of the event loop. A burst of thousands would
 * otherwise be begun as a whole before any reply of the database, of Redis or of the PSP is read,
 * and every deadline would pass while the answers wait unread.
 */
export class Pacer {
  readonly #perTurn: number;
  readonly #waiting: (() => void)[] = [];
  #begun = 0;
  #scheduled = false;

  constructor(perTurn: number) {
    this.#perTurn = perTurn;
  }

  /** Undefined if the request may begin at once; otherwise it is called when its turn has come. */
  enter(): Promise<void> | undefined {
    this.#schedule();
    if (this.#begun < this.#perTurn && this.#waiting.length === 0) {
      this.#begun += 1;
      return undefined;
    }
    return new Promise((begin) => this.#waiting.push(begin));
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      const next = this.#waiting.splice(0, this.#perTurn);
      this.#begun = next.length;
      for (const begin of next) begin();
      if (this.#begun > 0) this.#schedule();
    });
  }
}
