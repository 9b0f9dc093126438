import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FINGERPRINT_VERSION, fingerprint, readFingerprint } from '../../src/idempotency/index.ts';

type Args = Record<string, unknown>;

const of = (args: Args): string => fingerprint('createPayment', args);

/** The same value with the members of every object in the opposite order. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, reversed(member)]);
  return Object.fromEntries(members.reverse());
}

const args = fc.dictionary(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.jsonValue({ maxDepth: 3, noUnicodeString: false }),
  { maxKeys: 6 },
) as fc.Arbitrary<Args>;

describe('a fingerprint', () => {
  it('says its version and operation, and keeps everything else to itself', () => {
    const text = of({ amountMinor: 1_050, paymentMethod: 'pm_secret' });
    expect(text).toMatch(/^1:createPayment:[\w-]{43}$/);
    expect(readFingerprint(text)).toMatchObject({
      version: FINGERPRINT_VERSION,
      operation: 'createPayment',
    });
    expect(readFingerprint(text).digest).toHaveLength(32);
  });

  it('is SHA-256 over the canonical JSON of operation and arguments', () => {
    const canonical = '{"arguments":{"a":[1,"é"],"b":{"c":true,"d":0.001}},"operation":"pay"}';
    const digest = createHash('sha256').update(canonical).digest();
    const text = fingerprint('pay', { b: { d: 1e-3, c: true }, a: [1, 'é'] });
    expect(readFingerprint(text).digest).toEqual(digest);
  });

  it('does not depend on the order of members, at any depth', () => {
    fc.assert(
      fc.property(args, (value) => {
        expect(of(reversed(value) as Args)).toBe(of(value));
      }),
    );
  });

  it('is the same for the same value, which it leaves as it was', () => {
    fc.assert(
      fc.property(args, (value) => {
        const before = structuredClone(value);
        expect(of(value)).toBe(of(structuredClone(value)));
        expect(value).toEqual(before);
      }),
    );
  });

  it('differs as soon as anything differs', () => {
    fc.assert(
      fc.property(args, args, (one, two) => {
        const same = JSON.stringify(sorted(one)) === JSON.stringify(sorted(two));
        expect(of(one) === of(two)).toBe(same);
      }),
    );
  });

  it('depends on the order of a list', () => {
    expect(of({ lines: [1, 2] })).not.toBe(of({ lines: [2, 1] }));
    expect(of({ lines: [] })).not.toBe(of({ lines: [[]] }));
  });

  it('depends on the operation', () => {
    expect(fingerprint('refundPayment', { id: 1 })).not.toBe(fingerprint('voidPayment', { id: 1 }));
  });

  it.each([
    ['1050', '1050.0'],
    ['1050', '1.05e3'],
    ['0', '-0'],
    ['0.001', '1e-3'],
    ['1e21', '1000000000000000000000'],
  ])('takes the number %s and the number %s for the same', (one, two) => {
    expect(of({ n: JSON.parse(one) })).toBe(of({ n: JSON.parse(two) }));
  });

  it('tells a number from its text, and texts of equal numbers from each other', () => {
    const texts = [1_050, '1050', '1050.0', '1.05e3', true, 'true', null, 'null', {}, '{}', [], ''];
    expect(new Set(texts.map((n) => of({ n }))).size).toBe(texts.length);
  });

  it('is not confused by separators inside names and texts', () => {
    const shapes: Args[] = [
      { a: 'b', c: 'd' },
      { a: 'b","c":"d' },
      { 'a":"b","c': 'd' },
      { a: 'b,c:d' },
      { a: ['b', 'c'] },
      { a: ['b,c'] },
      { a: ['b","c'] },
      { a: { b: 'c' } },
      { 'a.b': 'c' },
      { a: 'b\\' },
      { a: 'b\\\\' },
      { a: 'b\u0000' },
    ];
    expect(new Set(shapes.map(of)).size).toBe(shapes.length);
    expect(fingerprint('pay', { operation: 'pay' })).not.toBe(fingerprint('pay', {}));
  });

  it('tells composed from decomposed text: text is compared as sent', () => {
    expect(of({ name: 'Zo\u00eb' })).not.toBe(of({ name: 'Zoe\u0308' }));
    expect(of({ 'Zo\u00eb': 1 })).not.toBe(of({ 'Zoe\u0308': 1 }));
  });

  it('tells case and white space apart', () => {
    expect(new Set(['a', 'A', ' a', 'a ', 'a\n'].map((name) => of({ name }))).size).toBe(5);
  });

  it('knows characters beyond the first plane, in names too', () => {
    expect(of({ '😀': '😀' })).toBe(of({ '\ud83d\ude00': '\ud83d\ude00' }));
    expect(of({ '\ufb33': 1, '😀': 2 })).toBe(of({ '😀': 2, '\ufb33': 1 }));
  });

  it.each([
    ['a lone surrogate', { name: '\ud800' }],
    ['a lone surrogate in a list', { names: ['a', 'b\udc00'] }],
    ['a lone surrogate in a name', { '\udfff': 1 }],
    ['NaN', { n: Number.NaN }],
    ['an infinite number', { n: Number.POSITIVE_INFINITY }],
    ['a bigint', { n: 1n }],
  ])('of %s does not exist: it throws', (_, value) => {
    expect(() => of(value)).toThrow();
  });

  it('of a value that contains itself does not exist: it throws', () => {
    const value: Args = {};
    value['self'] = value;
    expect(() => of(value)).toThrow();
  });
});

/** Plain JSON with sorted members; -0 is 0, as in any JSON text. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return members.map(([name, member]) => ({ name, member: sorted(member) }));
}
