import { type Cart, MOST_OF_ONE, money, PRODUCTS, type Product, totalOf } from './cart.ts';
import { button, icon, make, part } from './dom.ts';

export type CartLock = 'open' | 'underWay' | 'paid';

const HINTS: Readonly<Record<CartLock, string>> = {
  open: 'A changed cart is a new revision, and a new payment.',
  underWay: 'The cart cannot be changed while its payment is open.',
  paid: 'This cart is paid. Start a new order to buy more.',
};

/** Shows the cart; `put` is told of every change. */
export function showCart(
  cart: Cart,
  lock: CartLock,
  put: (sku: string, quantity: number) => void,
): void {
  const items = part('items', HTMLUListElement);
  const focused = document.activeElement?.id ?? '';
  items.replaceChildren(...PRODUCTS.map((product) => itemOf(product, cart, lock, put)));
  document.getElementById(focused)?.focus();
  part('revision', HTMLParagraphElement).textContent = `${cart.id}, revision ${cart.revision}`;
  part('cart-hint', HTMLParagraphElement).textContent = HINTS[lock];
  const total = money(totalOf(cart));
  part('total', HTMLElement).textContent = total;
  const pay = part('pay', HTMLButtonElement);
  pay.textContent = `Pay ${total}`;
  pay.disabled = totalOf(cart) === 0;
}

function itemOf(
  { sku, name, about, priceMinor }: Product,
  cart: Cart,
  lock: CartLock,
  put: (sku: string, quantity: number) => void,
): HTMLLIElement {
  const quantity = cart.quantities[sku] ?? 0;
  const step = (sign: '−' | '+', label: string, next: number) =>
    button(sign, () => put(sku, next), {
      id: `${sku}${sign}`,
      'aria-label': `${label} ${name}`,
      ...(lock !== 'open' || next < 0 || next > MOST_OF_ONE ? { disabled: '' } : {}),
    });
  return make(
    'li',
    {},
    icon(sku),
    make('span', { class: 'name' }, name, make('small', {}, `${about} · ${money(priceMinor)}`)),
    make(
      'span',
      { class: 'stepper' },
      step('−', 'One less:', quantity - 1),
      make('span', { class: 'quantity' }, String(quantity)),
      step('+', 'One more:', quantity + 1),
    ),
    make('span', { class: 'price' }, money(priceMinor * quantity)),
  );
}
