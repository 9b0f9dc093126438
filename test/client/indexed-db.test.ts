import { IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { browserStore } from '../../src/client/stores/browser.ts';
import { fakeLocks } from './fake-web.ts';
import { CART, euros, shop } from './shop.ts';
import { storeContract } from './store-contract.ts';

describe.each([
  ['with Web Locks', { locks: fakeLocks() }],
  ['in pages without TLS', {}],
])('IndexedDB %s', (_how, navigator) => {
  const indexedDB = new IDBFactory();
  beforeEach(() => {
    vi.stubGlobal('indexedDB', indexedDB);
    vi.stubGlobal('navigator', navigator);
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  storeContract(() => browserStore({ name: 'shop' }));

  it('is chosen first', async () => {
    expect(await browserStore({ name: 'shop' }).ready()).toBe('indexedDB');
  });

  it('is one payment when two tabs press at once', async () => {
    const { server, pay } = shop([], { store: browserStore({ name: 'shop' }) });
    const { pay: otherTab } = shop([], { server, store: browserStore({ name: 'shop' }) });
    const ends = await Promise.all(
      [pay, otherTab].map((tab) => tab.run('createPayment', euros(500), CART)),
    );
    expect(ends.map(({ kind }) => kind)).toEqual(['settled', 'settled']);
    expect(server.charges).toHaveLength(1);
  });
});
