import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  activeCurrencies,
  decimal,
  exponentOf,
  MAX_AMOUNT_MINOR,
  standing,
} from '../../src/payments/index.ts';

const TODAY = '2026-11-29';

describe('an amount in words', () => {
  test.each([
    [1, 'JPY', '1'],
    [1_050, 'EUR', '10.50'],
    [5, 'EUR', '0.05'],
    [50, 'EUR', '0.50'],
    [0, 'EUR', '0.00'],
    [-5, 'EUR', '-0.05'],
    [-1_050, 'JPY', '-1050'],
    [1, 'KWD', '0.001'],
    [12_345, 'KWD', '12.345'],
    [1, 'CLF', '0.0001'],
    [MAX_AMOUNT_MINOR, 'JPY', '99999999999999'],
    [MAX_AMOUNT_MINOR, 'USD', '999999999999.99'],
    [MAX_AMOUNT_MINOR, 'KWD', '99999999999.999'],
    [MAX_AMOUNT_MINOR, 'CLF', '9999999999.9999'],
  ])('%d in %s is %s', (amountMinor, currency, text) => {
    expect(decimal({ amountMinor, currency })).toBe(text);
  });

  test('has all digits of the currency and says exactly the minor units', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -MAX_AMOUNT_MINOR, max: MAX_AMOUNT_MINOR }),
        fc.constantFrom('JPY', 'EUR', 'KWD', 'CLF'),
        (amountMinor, currency) => {
          const text = decimal({ amountMinor, currency });
          const exponent = exponentOf(currency);
          expect(text).toMatch(
            exponent === 0 ? /^-?\d+$/ : new RegExp(`^-?\\d+\\.\\d{${exponent}}$`),
          );
          expect(BigInt(text.replace('.', ''))).toBe(BigInt(amountMinor));
        },
      ),
    );
  });
});

describe('a currency', () => {
  test.each([
    ['JPY', 0],
    ['ISK', 0],
    ['KRW', 0],
    ['XAF', 0],
    ['UGX', 0],
    ['VND', 0],
    ['UYI', 0],
    ['EUR', 2],
    ['USD', 2],
    ['CHF', 2],
    ['MGA', 2],
    ['MRU', 2],
    ['XCD', 2],
    ['KWD', 3],
    ['BHD', 3],
    ['TND', 3],
    ['IQD', 3],
    ['CLF', 4],
    ['UYW', 4],
  ])('%s has %d digits after the point', (code, exponent) => {
    expect(exponentOf(code)).toBe(exponent);
    expect(standing(code, TODAY)).toBe('active');
  });

  test.each(['HRK', 'BGN', 'ZWL', 'SLL', 'CUC', 'ANG', 'VEF'])(
    '%s is withdrawn, and old payments stay readable',
    (code) => {
      expect(standing(code, TODAY)).toBe('withdrawn');
      expect(exponentOf(code)).toBe(2);
    },
  );

  test.each(['SLE', 'VED', 'ZWG', 'XCG', 'VES', 'BYN', 'STN', 'MRU'])('%s is new', (code) => {
    expect(standing(code, TODAY)).toBe('active');
    expect(exponentOf(code)).toBe(2);
  });

  test.each(['XAU', 'XAG', 'XPT', 'XPD', 'XXX', 'XTS', 'XDR', 'XBA', 'XSU', 'XUA'])(
    '%s is not money',
    (code) => {
      expect(standing(code, TODAY)).toBe('not money');
      expect(() => exponentOf(code)).toThrow(RangeError);
    },
  );

  test.each(['eur', 'EU', 'EURO', 'BTC', 'DEM', 'EEK', '', '978', 'constructor', '__proto__'])(
    '%j is unknown',
    (code) => {
      expect(standing(code, TODAY)).toBe('unknown');
      expect(() => exponentOf(code)).toThrow(RangeError);
    },
  );

  test.each([
    ['HRK', '2022-12-31', 'active'],
    ['HRK', '2023-01-01', 'withdrawn'],
    ['BGN', '2025-12-31', 'active'],
    ['BGN', '2026-01-01', 'withdrawn'],
    ['XCG', '2025-03-30', 'not yet valid'],
    ['XCG', '2025-03-31', 'active'],
    ['ANG', '2025-06-30', 'active'],
    ['ANG', '2025-07-01', 'withdrawn'],
    ['ZWG', '2024-06-24', 'not yet valid'],
    ['ZWL', '2024-08-31', 'active'],
    ['ZWL', '2024-09-01', 'withdrawn'],
  ])('%s on %s is %s', (code, day, expected) => {
    expect(standing(code, day)).toBe(expected);
  });
});

/** A number to notice by if an edit of the table loses a code or adds one twice. */
test('of the active ones there are 164, in order and each once', () => {
  const active = activeCurrencies(TODAY);
  expect(active).toHaveLength(164);
  expect(new Set(active).size).toBe(164);
  expect(active).toEqual(active.toSorted());
  expect(active.every((code) => /^[A-Z]{3}$/.test(code))).toBe(true);
});

test('the browsers’ own list knows of no active one that is missing here', () => {
  const known = Intl.supportedValuesOf('currency');
  const missing = known.filter((code) => standing(code, TODAY) === 'unknown');
  expect(missing).toEqual([]);
});
