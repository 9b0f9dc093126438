import { validate, version } from 'uuid';
import { expect, test } from 'vitest';
import { uuidV7 } from '../../src/postgres/ids.ts';

test('ids are UUIDs of version 7, each greater than the last, and of now', () => {
  const before = Date.now();
  const ids = Array.from({ length: 20_000 }, uuidV7);
  expect(ids.every((id) => validate(id) && version(id) === 7)).toBe(true);
  expect(ids).toEqual([...new Set(ids)].sort());
  const at = Number.parseInt((ids.at(-1) ?? '').replace('-', '').slice(0, 12), 16);
  expect(at).toBeGreaterThanOrEqual(before);
  expect(at).toBeLessThanOrEqual(Date.now());
});

test('no two draws of random bytes are the same', () => {
  const tails = Array.from({ length: 5_000 }, () => uuidV7().slice(-8));
  expect(new Set(tails).size).toBeGreaterThan(4_990);
});
