import { randomBytes, randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { isSealingKey, Sealer } from '../../src/webhooks/index.ts';

const newKey = () => randomBytes(32).toString('base64');
const endpoint = { merchantId: randomUUID(), id: randomUUID() };

test('a secret is opened in its place only', () => {
  const sealer = new Sealer([newKey()]);
  const secret = Sealer.newSecret();
  const sealed = sealer.seal(endpoint, randomUUID(), secret);
  expect(sealer.open(endpoint, sealed)).toBe(secret);
  expect(sealed.sealed.includes(secret.slice(6, 20))).toBe(false);
  const elsewhere = [
    () => sealer.open({ ...endpoint, merchantId: randomUUID() }, sealed),
    () => sealer.open({ ...endpoint, id: randomUUID() }, sealed),
    () => sealer.open(endpoint, { ...sealed, id: randomUUID() }),
  ];
  for (const open of elsewhere) expect(open).toThrow('not what was sealed');
  for (let at = 4; at < sealed.sealed.length; at += 1) {
    const altered = Buffer.from(sealed.sealed);
    altered[at] = (altered[at] ?? 0) ^ 1;
    expect(() => sealer.open(endpoint, { ...sealed, sealed: altered })).toThrow();
  }
});

test('an earlier key opens what it sealed, beside the present one; no key, no secret', () => {
  const [old, present] = [newKey(), newKey()];
  const secret = Sealer.newSecret();
  const before = new Sealer([old]).seal(endpoint, randomUUID(), secret);
  const both = new Sealer([present, old]);
  expect(both.open(endpoint, before)).toBe(secret);
  const after = both.seal(endpoint, randomUUID(), secret);
  expect(new Sealer([present]).open(endpoint, after)).toBe(secret);
  expect(() => new Sealer([present]).open(endpoint, before)).toThrow('No key');
  expect(before.sealed.equals(after.sealed)).toBe(false);
});

test('a key is 32 bytes in base64', () => {
  expect(isSealingKey(newKey())).toBe(true);
  for (const text of [
    '',
    'secret',
    randomBytes(31).toString('base64'),
    randomBytes(32).toString('hex'),
  ]) {
    expect(isSealingKey(text)).toBe(false);
  }
});
