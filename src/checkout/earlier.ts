import type { Pay } from './attempt.ts';
import { button, make, part } from './dom.ts';
import { wordsFor } from './words.ts';

/** The carts that were left with an open payment; a buyer must not forget them. */
export class EarlierPayments {
  readonly #pay: Pay;
  readonly #place = part('earlier', HTMLElement);

  constructor(pay: Pay) {
    this.#pay = pay;
  }

  /** Shows the open payments of carts other than this one. */
  async show(scopeNow: string): Promise<void> {
    const open = (await this.#pay.unsettled()).flatMap(({ scope }) => scope ?? []);
    const others = open.filter((scope) => scope !== scopeNow);
    this.#place.hidden = others.length === 0;
    this.#place.replaceChildren(...others.map((scope) => this.#lineFor(scope)));
  }

  #lineFor(scope: string): HTMLElement {
    const said = make('span', { role: 'status' }, 'has a payment whose outcome is open.');
    const ask = async (): Promise<void> => {
      const outcome = await this.#pay.resume('createPayment', { scope });
      const { title, text } = wordsFor({ work: undefined, outcome });
      said.textContent = `${title}. ${text}`;
    };
    return make(
      'p',
      {},
      make('strong', {}, `Cart ${scope.split(':')[1]} `),
      said,
      button('Find out', () => void ask()),
    );
  }
}
