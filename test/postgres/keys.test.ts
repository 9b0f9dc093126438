import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { version } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { JournalUnavailable } from '../../src/payments/index.ts';
import { Keys } from '../../src/postgres/administration.ts';
import { Identities, SCOPES } from '../../src/postgres/index.ts';
import { startProxy } from '../support/proxy.ts';
import { type Books, openBooks } from './books.ts';

let books: Books;
let keys: Keys;
let identities: Identities;
beforeAll(async () => {
  books = await openBooks();
  keys = new Keys(books.url);
  identities = new Identities(books.database());
});
afterAll(async () => {
  await keys.close();
  await books.close();
});

const NEW = { merchant: 'shop', name: 'server', scopes: SCOPES, expiresAt: null } as const;

describe('a key', () => {
  test('is made, told once and kept only as its digest', async () => {
    const { key, id, merchantId } = await keys.create(NEW);
    expect(key).toMatch(/^sk_[\w-]{43}$/);
    expect([version(id), version(merchantId)]).toEqual([7, 7]);
    const [row] = await books.sql`select * from api_keys where id = ${id}`;
    expect(JSON.stringify(row)).not.toContain(key);
    expect(row).toMatchObject({ prefix: key.slice(0, 10), name: 'server' });
    expect(await identities.identify(key)).toEqual({
      merchantId,
      keyId: id,
      scopes: new Set(SCOPES),
    });
  });

  test('for a merchant who is there already is one more of theirs', async () => {
    const first = await keys.create({ ...NEW, merchant: 'twice' });
    const second = await keys.create({ ...NEW, merchant: 'twice', name: 'other' });
    expect(second.merchantId).toBe(first.merchantId);
    expect(second.key).not.toBe(first.key);
  });

  test('of one’s own choice by many starters at once is one key of one merchant', async () => {
    const starters = Array.from({ length: 4 }, () => new Keys(books.url));
    const wanted = { ...NEW, merchant: 'demo', key: `demo-key-${randomUUID()}` };
    const made = await Promise.all(starters.map((one) => one.create(wanted)));
    await Promise.all(starters.map((one) => one.close()));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    const listed = (await keys.list()).filter(({ merchant }) => merchant === 'demo');
    expect(listed).toHaveLength(1);
    expect(await keys.revoke(made[0]?.id ?? '')).toBe(true);
    expect(await identities.identify(wanted.key)).toBeUndefined();
  });

  test('is listed with everything but itself', async () => {
    const { key, id } = await keys.create({
      ...NEW,
      merchant: 'listed',
      scopes: ['payments:read'],
    });
    const info = (await keys.list()).find((one) => one.id === id);
    expect(info).toMatchObject({
      merchant: 'listed',
      name: 'server',
      scopes: ['payments:read'],
      expiresAt: null,
      revokedAt: null,
      createdAt: expect.any(Date),
    });
    expect(JSON.stringify(info)).not.toContain(key);
  });

  test('is revoked once; what is none is not', async () => {
    const { id } = await keys.create(NEW);
    expect(await keys.revoke(id)).toBe(true);
    expect(await keys.revoke(id)).toBe(false);
    expect(await keys.revoke(randomUUID())).toBe(false);
    expect(await keys.revoke('no key at all')).toBe(false);
    expect((await keys.list()).find((one) => one.id === id)?.revokedAt).toBeInstanceOf(Date);
  });
});

describe('whose key it is', () => {
  test('is forgotten within a second after it was revoked', async () => {
    const { key, id } = await keys.create(NEW);
    expect(await identities.identify(key)).toBeDefined();
    await keys.revoke(id);
    await sleep(1_010);
    expect(await identities.identify(key)).toBeUndefined();
  });

  test('is nobody’s for a key that expired, was never made or is a prefix', async () => {
    const { key } = await keys.create({ ...NEW, expiresAt: new Date(Date.now() - 1_000) });
    expect(await identities.identify(key)).toBeUndefined();
    expect(await identities.identify('sk_never')).toBeUndefined();
    expect(await identities.identify('')).toBeUndefined();
    const valid = await keys.create({ ...NEW, expiresAt: new Date(Date.now() + 60_000) });
    expect(await identities.identify(valid.key.slice(0, 10))).toBeUndefined();
    expect(await identities.identify(valid.key)).toBeDefined();
  });

  test('is asked once for many requests, and a flood of unknown keys costs few statements', async () => {
    const { key, merchantId } = await keys.create(NEW);
    let statements = 0;
    const database = books.database();
    const run = database.run.bind(database);
    database.run = (...statement) => {
      statements += 1;
      return run(...statement);
    };
    const asked = new Identities(database);
    const found = await Promise.all(
      Array.from({ length: 5_000 }, (_, turn) =>
        asked.identify(turn % 2 === 0 ? key : `sk_unknown_${turn}`),
      ),
    );
    expect(found.filter((one) => one?.merchantId === merchantId)).toHaveLength(2_500);
    expect(statements).toBeLessThan(10);
  });

  test('cannot be said without a database, which is not remembered', async () => {
    const { key } = await keys.create(NEW);
    const url = new URL(books.url);
    const proxy = await startProxy(Number(url.port));
    url.port = String(proxy.port);
    const far = new Identities(books.database({ url: url.href, statementMs: 500 }));
    await proxy.set('refuse');
    await expect(far.identify(key)).rejects.toBeInstanceOf(JournalUnavailable);
    await proxy.set('pass');
    expect(await far.identify(key)).toBeDefined();
    await proxy.close();
  });
});
