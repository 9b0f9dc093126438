import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { stableKey } from '../../src/client/index.ts';
import { paramsHash } from '../../src/client/params.ts';
import { CART, euros, shop } from './shop.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('stableKey', () => {
  it('is UUID version 5 of the parts', async () => {
    const key = await stableKey('invoice', 42, 'v1');
    const namespace = Buffer.from('63f0c5d27a514e5f9a860d8b1c6e4b17', 'hex');
    const name = Buffer.from('["invoice",42,"v1"]');
    const digest = createHash('sha1')
      .update(Buffer.concat([namespace, name]))
      .digest();
    digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
    digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
    expect(key.replaceAll('-', '')).toBe(digest.subarray(0, 16).toString('hex'));
    expect(key).toMatch(UUID);
  });

  it('is the same for the same parts only', async () => {
    const part = fc.oneof(fc.string(), fc.integer());
    const parts = fc.array(part, { minLength: 1 });
    await fc.assert(
      fc.asyncProperty(parts, parts, async (one, other) => {
        const keys = await Promise.all(
          [one, other].map(([first = '', ...rest]) => stableKey(first, ...rest)),
        );
        const same = JSON.stringify(one) === JSON.stringify(other);
        expect(keys[0] === keys[1]).toBe(same);
      }),
    );
  });
});

describe('a minted key', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  it('is random and well-formed in pages without TLS, too', async () => {
    const getRandomValues = crypto.getRandomValues.bind(crypto);
    vi.stubGlobal('crypto', { getRandomValues });
    const { pay, server } = shop();
    for (const revision of [1, 2, 3]) {
      await pay.run('createPayment', euros(500), { scope: `cart:7:${revision}` });
    }
    expect(new Set(server.keys()).size).toBe(3);
    for (const key of server.keys()) expect(key).toMatch(/^\d+-\d+-\d+-\d+$/);
  });
});

describe('the digest of parameters', () => {
  it('does not depend on the order of members, and takes null for omitted', () => {
    expect(paramsHash({ b: 1, a: { d: null, c: [1, 2] } })).toBe(
      paramsHash({ a: { c: [1, 2] }, b: 1, e: undefined }),
    );
  });

  it('changes with every value', () => {
    const texts = Array.from({ length: 2_000 }, (_, amount) => paramsHash(euros(amount)));
    expect(new Set(texts).size).toBe(texts.length);
    expect(paramsHash({ a: [1, 2] })).not.toBe(paramsHash({ a: [2, 1] }));
    expect(paramsHash({ a: '1' })).not.toBe(paramsHash({ a: 1 }));
  });
});

describe('misuse', () => {
  it('is thrown, before anything is sent', async () => {
    const { pay, server } = shop();
    await expect(pay.run('createPayment', euros(1), { scope: '' })).rejects.toThrow(TypeError);
    await expect(pay.run('createPayment', euros(1), { key: 'a b' })).rejects.toThrow(TypeError);
    await expect(pay.run('refund' as 'createPayment', euros(1), CART)).rejects.toThrow(TypeError);
    const huge = { input: 1n } as never;
    await expect(pay.run('createPayment', huge, CART)).rejects.toThrow(TypeError);
    expect(server.requests).toEqual([]);
  });
});
