import { exponentOf, type Money } from '../../payments/index.ts';

/**
 * Where Stripe's smallest unit is not that of ISO 4217: ISK and UGX have no decimals but are
 * written with two, MGA has two but is written with none.
 */
const STRIPE_EXPONENT: Readonly<Record<string, number>> = { ISK: 2, UGX: 2, MGA: 0 };

/**
 * Our minor units (ISO 4217) → the integer that Stripe is asked for. Undefined if Stripe cannot
 * take it: a part of a unit that it does not have, the last digit of a currency with three
 * decimals, four decimals, or a number that is not exact.
 */
export function toStripe({ amountMinor, currency }: Money): number | undefined {
  const exponent = exponentOf(currency);
  if (exponent > 3) return undefined;
  if (exponent === 3 && amountMinor % 10 !== 0) return undefined;
  return scaled(amountMinor, (STRIPE_EXPONENT[currency] ?? exponent) - exponent);
}

/** Stripe's integer → our minor units; undefined if it is not a whole number of them. */
export function fromStripe(amount: number, currency: string): number | undefined {
  const exponent = exponentOf(currency);
  return scaled(amount, exponent - (STRIPE_EXPONENT[currency] ?? exponent));
}

function scaled(amount: number, digits: number): number | undefined {
  const result = digits < 0 ? amount / 10 ** -digits : amount * 10 ** digits;
  return Number.isSafeInteger(result) ? result : undefined;
}
