import { make, part } from './dom.ts';
import { METHODS, methodOf } from './methods.ts';
import type { Faults } from './network.ts';

export interface ControlActions {
  readonly choose: (method: string) => void;
  /** The connection is back. */
  readonly online: () => void;
  readonly another: () => void;
}

/** The panel that makes things go wrong. */
export class Controls {
  readonly #faults: Faults;
  readonly #method = part('method', HTMLSelectElement);
  readonly #drop = part('drop', HTMLSelectElement);
  readonly #offline = part('offline', HTMLInputElement);

  constructor(faults: Faults, { choose, online, another }: ControlActions) {
    this.#faults = faults;
    this.#method.append(...METHODS.map(({ token, label }) => optionOf(token, label)));
    this.#method.addEventListener('change', () => choose(this.#method.value));
    this.#drop.addEventListener('change', () => {
      faults.drop = this.#drop.value as Faults['drop'];
    });
    this.#offline.addEventListener('change', () => {
      faults.offline = this.#offline.checked;
      if (!faults.offline) online();
    });
    // What a browser restores of a form after a reload is not how things stand.
    this.showFaults();
    addEventListener('online', online);
    part('reload', HTMLButtonElement).addEventListener('click', () => location.reload());
    part('another', HTMLButtonElement).addEventListener('click', another);
  }

  showMethod(token: string): void {
    const { label, hint } = methodOf(token);
    if (![...this.#method.options].some(({ value }) => value === token)) {
      this.#method.append(optionOf(token, label));
    }
    this.#method.value = token;
    part('method-hint', HTMLParagraphElement).textContent = `${hint} (${token})`;
  }

  showFaults(): void {
    this.#drop.value = this.#faults.drop;
    this.#offline.checked = this.#faults.offline;
  }
}

function optionOf(token: string, label: string): HTMLOptionElement {
  return make('option', { value: token }, label);
}
