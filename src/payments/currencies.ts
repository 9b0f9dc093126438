/**
 * ISO 4217 list one, as our own dated table: code, minor-unit exponent, and for codes that came or
 * went since 2015 the first and the last day of validity. Funds codes that carry an exponent (CLF,
 * UYW …) are money here; metals, bond units, test codes and XXX are not.
 */
const BY_EXPONENT: Readonly<Record<number, string>> = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  2: `AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BOV BRL BSD BTN BWP BYN BZD
    CAD CDF CHE CHF CHW CNY COP COU CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL
    GHS GIP GMD GTQ GYD HKD HNL HRK HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR
    LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB
    PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SLL SOS SRD SSP STN SVC SYP
    SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VEF VES WST XCD XCG YER ZAR ZMW ZWG
    ZWL`,
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};

const VALID_FROM: Readonly<Record<string, string>> = {
  SLE: '2022-04-01',
  UYW: '2018-08-29',
  VED: '2021-10-01',
  VES: '2018-08-20',
  XCG: '2025-03-31',
  ZWG: '2024-06-25',
};

const VALID_UNTIL: Readonly<Record<string, string>> = {
  ANG: '2025-06-30',
  BGN: '2025-12-31',
  CUC: '2021-06-30',
  HRK: '2022-12-31',
  SLL: '2023-12-31',
  VEF: '2018-08-20',
  ZWL: '2024-08-31',
};

const NOT_MONEY = new Set('XAD XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XXX'.split(' '));

const EXPONENTS: ReadonlyMap<string, number> = new Map(
  Object.entries(BY_EXPONENT).flatMap(([exponent, codes]) =>
    codes.split(/\s+/).map((code) => [code, Number(exponent)] as const),
  ),
);

/** Whether money can be asked for in this code on this day, and if not why. Upper case only. */
export type CurrencyStanding = 'active' | 'withdrawn' | 'not yet valid' | 'not money' | 'unknown';

/** @param day the day in question as `YYYY-MM-DD` (UTC) */
export function standing(code: string, day: string): CurrencyStanding {
  if (NOT_MONEY.has(code)) return 'not money';
  if (!EXPONENTS.has(code)) return 'unknown';
  if (day < (VALID_FROM[code] ?? '')) return 'not yet valid';
  if (day > (VALID_UNTIL[code] ?? '9999-12-31')) return 'withdrawn';
  return 'active';
}

/**
 * How many decimal digits the currency's minor unit stands for (ISO 4217, "minor unit"). Withdrawn
 * currencies keep theirs, since old payments stay readable.
 *
 * @throws RangeError for a code that was never money
 */
export function exponentOf(code: string): number {
  const exponent = EXPONENTS.get(code);
  if (exponent === undefined) throw new RangeError('No such currency.');
  return exponent;
}

/** Every code that is money on this day. */
export function activeCurrencies(day: string): readonly string[] {
  return [...EXPONENTS.keys()].filter((code) => standing(code, day) === 'active').sort();
}
