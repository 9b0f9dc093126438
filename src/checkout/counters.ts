import { part } from './dom.ts';
import type { Tally } from './tally.ts';

/** How often the PSP's books are looked at while something is open, in ms. */
const EVERY_MS = 1_000;

/** The three numbers; the last one is asked of the PSP, past whatever is broken on this page. */
export class Counters {
  readonly #tally: Tally;
  #scope = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(tally: Tally) {
    this.#tally = tally;
  }

  /** @param open true if the PSP may charge without this page doing anything */
  show(scope: string, open: boolean): void {
    if (scope !== this.#scope) showCharges(0);
    this.#scope = scope;
    const { pressed, sent } = this.#tally.of(scope);
    put('pressed', String(pressed));
    put('sent', String(sent));
    clearTimeout(this.#timer);
    void this.#look(scope);
    if (open) this.#timer = setTimeout(() => this.show(this.#scope, open), EVERY_MS);
  }

  async #look(scope: string): Promise<void> {
    const { keys } = this.#tally.of(scope);
    try {
      const counts = await Promise.all(keys.map(chargesUnder));
      const charges = counts.reduce((sum, count) => sum + count, 0);
      if (scope === this.#scope) showCharges(charges);
    } catch {
      // The number stays as it was; the next look is soon.
    }
  }
}

async function chargesUnder(key: string): Promise<number> {
  const response = await fetch(`/checkout/charges?${new URLSearchParams({ key })}`);
  const { executions } = await response.json();
  return Number(executions);
}

/** More than one would be the very thing that must not happen: then the number says so. */
function showCharges(charges: number): void {
  put('charges', String(charges));
  part('charges', HTMLElement).parentElement?.classList.toggle('many', charges > 1);
}

function put(id: string, text: string): void {
  const place = part(id, HTMLElement);
  if (place.textContent !== text) place.textContent = text;
}
