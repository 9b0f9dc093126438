import type { Kept } from './kept.ts';

/** What was done about one scope, in all tabs and before every reload. */
export interface Counts {
  readonly pressed: number;
  readonly sent: number;
  readonly keys: readonly string[];
}

const NONE: Counts = { pressed: 0, sent: 0, keys: [] };

/** Counts for the counters. Every page writes what is its own, so that no two tabs lose a count. */
export class Tally {
  readonly #kept: Kept;
  readonly #page = crypto.getRandomValues(new Uint32Array(2)).join('-');

  constructor(kept: Kept) {
    this.#kept = kept;
  }

  pressed(scope: string): void {
    const own = this.#own(scope);
    this.#write(scope, { ...own, pressed: own.pressed + 1 });
  }

  sent(scope: string, key: string): void {
    const { keys, sent, ...own } = this.#own(scope);
    this.#write(scope, { ...own, sent: sent + 1, keys: [...new Set([...keys, key])] });
  }

  of(scope: string): Counts {
    const start = `count ${scope} `;
    const all = this.#kept
      .names()
      .filter((name) => name.startsWith(start))
      .map((name) => parse(this.#kept.get(name)));
    return {
      pressed: all.reduce((sum, { pressed }) => sum + pressed, 0),
      sent: all.reduce((sum, { sent }) => sum + sent, 0),
      keys: [...new Set(all.flatMap(({ keys }) => keys))],
    };
  }

  /** Forgets what is counted for other carts. */
  keepOnly(cartId: string): void {
    for (const name of this.#kept.names()) {
      if (name.startsWith('count ') && !name.startsWith(`count cart:${cartId}:`)) {
        this.#kept.remove(name);
      }
    }
  }

  #own(scope: string): Counts {
    return parse(this.#kept.get(this.#name(scope)));
  }

  #write(scope: string, counts: Counts): void {
    this.#kept.set(this.#name(scope), JSON.stringify(counts));
  }

  #name(scope: string): string {
    return `count ${scope} ${this.#page}`;
  }
}

function parse(text: string | undefined): Counts {
  return text === undefined ? NONE : JSON.parse(text);
}
