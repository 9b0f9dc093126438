import { exponentOf } from './currencies.ts';

/** An amount in the currency's minor units (ISO 4217 exponent), always a safe integer. */
export interface Money {
  readonly amountMinor: number;
  readonly currency: string;
}

/** The largest amount of one payment in minor units: 14 digits, exact in a double and a bigint. */
export const MAX_AMOUNT_MINOR = 99_999_999_999_999;

/**
 * The amount as a plain decimal with all of the currency's digits, e.g. 1050 EUR → "10.50".
 * For display; arithmetic stays in minor units.
 */
export function decimal({
  amountMinor,
  currency,
}: {
  readonly amountMinor: number | bigint;
  readonly currency: string;
}): string {
  const exponent = exponentOf(currency);
  const digits = String(amountMinor < 0 ? -amountMinor : amountMinor).padStart(exponent + 1, '0');
  const whole = digits.slice(0, digits.length - exponent);
  const fraction = digits.slice(digits.length - exponent);
  const sign = amountMinor < 0 ? '-' : '';
  return exponent === 0 ? `${sign}${whole}` : `${sign}${whole}.${fraction}`;
}
