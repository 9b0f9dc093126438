import type { Kept } from './kept.ts';
import { isMethod, METHODS } from './methods.ts';

export interface Product {
  readonly sku: string;
  readonly name: string;
  readonly about: string;
  readonly priceMinor: number;
}

export const CURRENCY = 'EUR';
export const MOST_OF_ONE = 9;

export const PRODUCTS: readonly Product[] = [
  { sku: 'beans', name: 'Coffee beans', about: 'Nyeri, 250 g', priceMinor: 1_180 },
  { sku: 'cup', name: 'Enamel cup', about: '0.3 l, dark green', priceMinor: 950 },
  { sku: 'filter', name: 'Paper filters', about: 'size 2, a box of 100', priceMinor: 420 },
];

/** A new revision for every change: it is the cart as it was seen that is paid for. */
export interface Cart {
  readonly id: string;
  readonly revision: number;
  readonly quantities: Readonly<Record<string, number>>;
  /** The token of a payment method; another method is no other cart. */
  readonly method: string;
}

/** What is paid for once. */
export function scopeOf({ id, revision }: Cart): string {
  return `cart:${id}:${revision}`;
}

export function totalOf({ quantities }: Cart): number {
  return PRODUCTS.reduce(
    (sum, { sku, priceMinor }) => sum + priceMinor * (quantities[sku] ?? 0),
    0,
  );
}

export function money(amountMinor: number): string {
  return `€${(amountMinor / 100).toFixed(2)}`;
}

/** The cart that all tabs of this browser share. */
export class CartBook {
  readonly #kept: Kept;
  readonly #changed: (cart: Cart) => void;
  #now: Cart;

  constructor(kept: Kept, changed: (cart: Cart) => void) {
    this.#kept = kept;
    this.#changed = changed;
    this.#now = read(kept) ?? newCart(METHODS[0].token);
    this.#write(this.#now);
    kept.watch(() => {
      const found = read(kept);
      if (found === undefined || JSON.stringify(found) === JSON.stringify(this.#now)) return;
      this.#now = found;
      changed(found);
    });
  }

  get now(): Cart {
    return this.#now;
  }

  put(sku: string, quantity: number): void {
    const { revision, quantities } = this.#now;
    this.#change({
      ...this.#now,
      revision: revision + 1,
      quantities: { ...quantities, [sku]: Math.max(0, Math.min(MOST_OF_ONE, quantity)) },
    });
  }

  choose(method: string): void {
    if (isMethod(method)) this.#change({ ...this.#now, method });
  }

  startOver(): void {
    this.#change(newCart(this.#now.method));
  }

  #change(next: Cart): void {
    this.#now = next;
    this.#write(next);
    this.#changed(next);
  }

  #write(cart: Cart): void {
    this.#kept.set('cart', JSON.stringify(cart));
  }
}

function newCart(method: string): Cart {
  const id = Array.from(crypto.getRandomValues(new Uint8Array(4)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
  return { id, revision: 1, quantities: { beans: 1, cup: 2, filter: 1 }, method };
}

/** The shop's own text, but an older page may have written it. */
function read(kept: Kept): Cart | undefined {
  try {
    const { id, revision, quantities, method } = JSON.parse(kept.get('cart') ?? '');
    const known = typeof id === 'string' && Number.isSafeInteger(revision) && isMethod(method);
    return known ? { id, revision, quantities: Object(quantities), method } : undefined;
  } catch {
    return undefined;
  }
}
