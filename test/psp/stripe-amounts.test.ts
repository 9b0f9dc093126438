import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { activeCurrencies } from '../../src/payments/index.ts';
import { fromStripe, toStripe } from '../../src/psp/stripe/amounts.ts';

describe("our minor units in Stripe's", () => {
  it.each([
    ['EUR', 1_050, 1_050],
    ['JPY', 500, 500],
    ['ISK', 5, 500],
    ['UGX', 5, 500],
    ['MGA', 300, 3],
    ['MGA', 350, undefined],
    ['KWD', 1_230, 1_230],
    ['KWD', 1_234, undefined],
    ['BHD', 5, undefined],
    ['JOD', 10, 10],
    ['OMR', 11, undefined],
    ['TND', 20, 20],
    ['CLF', 10_000, undefined],
    ['ISK', Number.MAX_SAFE_INTEGER, undefined],
  ])('%s %i is %s', (currency, amountMinor, expected) => {
    expect(toStripe({ amountMinor, currency })).toBe(expected);
  });

  it('come back as they went, in every currency', () => {
    const currencies = activeCurrencies('2026-01-01');
    const amounts = fc.integer({ min: 1, max: 99_999_999 });
    fc.assert(
      fc.property(fc.constantFrom(...currencies), amounts, (currency, amountMinor) => {
        const amount = toStripe({ amountMinor, currency });
        if (amount !== undefined) expect(fromStripe(amount, currency)).toBe(amountMinor);
      }),
    );
  });

  it('are not guessed from half of one', () => {
    expect(fromStripe(550, 'ISK')).toBeUndefined();
  });
});
