/** Decides everything of a run that can be decided; the same seed and name, the same decisions. */
export class Random {
  #state: number;

  constructor(seed: number, name = '') {
    this.#state = seed | 0;
    for (const letter of name) {
      this.#state = Math.imul(this.#state ^ letter.charCodeAt(0), 0x01000193);
    }
  }

  /** From 0 to 1, without 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    const state = this.#state;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(share: number): boolean {
    return this.next() < share;
  }

  one<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T;
  }
}
