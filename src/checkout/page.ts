import { Attempt, type Pay, type Shown } from './attempt.ts';
import { CartBook, scopeOf } from './cart.ts';
import { type CartLock, showCart } from './cart-view.ts';
import { Controls } from './controls.ts';
import { Counters } from './counters.ts';
import { part } from './dom.ts';
import { EarlierPayments } from './earlier.ts';
import { openKept } from './kept.ts';
import { isMethod } from './methods.ts';
import type { Faults, WireEvent } from './network.ts';
import { showOutcome } from './outcome-view.ts';
import { openPay, paymentFor } from './shop.ts';
import { Tally } from './tally.ts';
import { WireLog } from './wire-log.ts';
import type { Action } from './words.ts';

/** Everything of the page, put together: one cart, one attempt to pay it, and what is seen of both. */
export class CheckoutPage {
  readonly #kept = openKept();
  readonly #book = new CartBook(this.#kept, () => this.#cartChanged());
  readonly #tally = new Tally(this.#kept);
  readonly #counters = new Counters(this.#tally);
  readonly #log = new WireLog();
  readonly #faults: Faults = { offline: false, drop: 'never' };
  readonly #controls = new Controls(this.#faults, {
    choose: (method) => this.#book.choose(method),
    online: () => this.#attempt?.online(),
    another: () => this.#book.startOver(),
  });
  /** Which cart a key pays for: the network sees only keys. */
  readonly #scopes = new Map<string, string>();
  #pay: Pay | undefined;
  #attempt: Attempt | undefined;
  #earlier: EarlierPayments | undefined;
  #scope = '';
  #shown: Shown = { work: undefined, outcome: undefined };

  async open(apiKey: string): Promise<void> {
    const { pay, keptIn } = await openPay({
      apiKey,
      faults: this.#faults,
      onWire: (event) => this.#onWire(event),
      onKey: (key, scope) => this.#scopes.set(key, scope),
      onWaiting: (ms) => this.#log.waiting(ms),
    });
    this.#pay = pay;
    this.#earlier = new EarlierPayments(pay);
    part('kept', HTMLParagraphElement).textContent = `Keys are kept in ${keptIn}.`;
    chooseFromAddress(this.#book);
    this.#cartChanged();
    this.#kept.watch(() => this.#count());
    part('pay', HTMLButtonElement).addEventListener('click', () => this.#press());
  }

  #press(): void {
    this.#tally.pressed(this.#scope);
    this.#attempt?.press(paymentFor(this.#book.now));
  }

  #cartChanged(): void {
    const cart = this.#book.now;
    this.#controls.showMethod(cart.method);
    if (this.#pay === undefined || this.#scope === scopeOf(cart)) return;
    this.#scope = scopeOf(cart);
    this.#tally.keepOnly(cart.id);
    this.#attempt?.close();
    this.#attempt = new Attempt(this.#pay, this.#scope, (shown) => this.#show(shown));
    void this.#earlier?.show(this.#scope);
  }

  #show(shown: Shown): void {
    this.#shown = shown;
    showOutcome(shown, (action) => this.#act(action));
    showCart(this.#book.now, lockOf(shown), (sku, quantity) => this.#book.put(sku, quantity));
    this.#count();
  }

  #act(action: Action): void {
    if (action === 'choose') part('method', HTMLSelectElement).focus();
    else if (action === 'startOver') this.#book.startOver();
    else this.#attempt?.[action]();
  }

  #onWire(event: WireEvent): void {
    this.#log.wire(event);
    if (event.is === 'sent') this.#tally.sent(this.#scopes.get(event.key) ?? '', event.key);
    this.#controls.showFaults();
    this.#count();
  }

  #count(): void {
    this.#counters.show(this.#scope, lockOf(this.#shown) === 'underWay');
  }
}

function lockOf({ work, outcome }: Shown): CartLock {
  if (outcome?.kind === 'settled') return 'paid';
  const open = ['processing', 'unknown', 'blocked'].includes(outcome?.kind ?? '');
  return work !== undefined || open ? 'underWay' : 'open';
}

/** `?method=pm_slow_500` chooses any token that the simulator knows, once. */
function chooseFromAddress(book: CartBook): void {
  const address = new URL(location.href);
  const asked = address.searchParams.get('method');
  if (!isMethod(asked)) return;
  address.searchParams.delete('method');
  history.replaceState(null, '', address);
  book.choose(asked);
}
