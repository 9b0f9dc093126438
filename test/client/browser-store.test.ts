import { afterEach, describe, expect, it, vi } from 'vitest';
import { browserStore } from '../../src/client/stores/browser.ts';
import type { Web } from '../../src/client/stores/web-types.ts';
import { deniedStorage, fakeChannels, fakeLocks, fakeStorage } from './fake-web.ts';
import { CART, euros, shop } from './shop.ts';
import { recordOf, storeContract } from './store-contract.ts';

function browse(web: Web): void {
  const nothing = { indexedDB: undefined, localStorage: undefined, sessionStorage: undefined };
  for (const [name, part] of Object.entries({ ...nothing, navigator: {}, ...web })) {
    vi.stubGlobal(name, part);
  }
}

afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each([
  ['with Web Locks', { locks: fakeLocks() }],
  ['in pages without TLS', {}],
])('localStorage %s', (_how, navigator) => {
  const web = { localStorage: fakeStorage(), navigator };
  storeContract(() => {
    browse(web);
    return browserStore({ name: 'shop' });
  });
});

describe('the browser store', () => {
  it('says what it keeps intents in', async () => {
    browse({ localStorage: fakeStorage() });
    const store = browserStore();
    expect(store.kind).toBeUndefined();
    expect(await store.ready()).toBe('localStorage');
    expect(store).toMatchObject({ kind: 'localStorage', durability: 'durable' });
  });

  it('falls back to what the browser allows', async () => {
    const broken = {
      open: () => {
        throw new Error('SecurityError');
      },
    };
    browse({ indexedDB: broken, localStorage: deniedStorage, sessionStorage: fakeStorage() });
    expect(await browserStore().ready()).toBe('sessionStorage');
    browse({ localStorage: deniedStorage, sessionStorage: deniedStorage });
    const last = browserStore();
    expect(await last.ready()).toBe('memory');
    expect(last.durability).toBe('memory');
  });

  it('survives a reload, and another tab sees it', async () => {
    browse({
      localStorage: fakeStorage(),
      BroadcastChannel: fakeChannels(),
      navigator: { locks: fakeLocks() },
    });
    const { server, pay } = shop([], { store: browserStore() });
    const seen: unknown[] = [];
    const { pay: otherTab } = shop([], { server, store: browserStore() });
    const unwatch = otherTab.watch('createPayment', CART, (now) => seen.push(now?.phase));
    await pay.run('createPayment', euros(500), CART);
    await vi.waitFor(() => expect(seen.at(-1)).toBe('settled'));
    unwatch();
    const again = await otherTab.run('createPayment', euros(500), CART);
    expect(again).toMatchObject({ kind: 'settled', replayed: true });
    expect(server.keys()).toHaveLength(1);
  });

  it('is one payment when two tabs press at once, with locks or without', async () => {
    for (const navigator of [{ locks: fakeLocks() }, {}]) {
      browse({ localStorage: fakeStorage(), navigator });
      const { server, pay } = shop([], { store: browserStore() });
      const { pay: otherTab } = shop([], { server, store: browserStore() });
      const ends = await Promise.all(
        [pay, otherTab].map((tab) => tab.run('createPayment', euros(500), CART)),
      );
      expect(ends.map(({ kind }) => kind)).toEqual(['settled', 'settled']);
      expect(server.charges).toHaveLength(1);
    }
  });

  it('keeps nothing of the parameters', async () => {
    const localStorage = fakeStorage();
    browse({ localStorage, navigator: { locks: fakeLocks() } });
    const { pay } = shop(['badInput'], { store: browserStore() });
    await pay.run('createPayment', euros(500, 'tok_secret'), CART);
    const kept = Array.from({ length: localStorage.length }, (_, index) => {
      return localStorage.getItem(localStorage.key(index) ?? '');
    });
    expect(kept.join()).not.toContain('tok_secret');
    expect(kept.join()).not.toContain('500');
  });

  it('waits for a lease of a tab that crashed, and no longer', async () => {
    const localStorage = fakeStorage();
    browse({ localStorage });
    localStorage.setItem('semel:intents:lease:here', `crashed ${Date.now() + 60}`);
    const began = Date.now();
    expect(await browserStore().exclusive('here', async () => 'mine')).toBe('mine');
    expect(Date.now() - began).toBeGreaterThanOrEqual(55);
  });

  it('does not take a record that it cannot read for none', async () => {
    const localStorage = fakeStorage();
    browse({ localStorage });
    localStorage.setItem('semel:intents:intent:here', '{half');
    await expect(browserStore().read('here')).rejects.toThrow();
    expect(await browserStore().swap('here', undefined, recordOf())).toBe(false);
  });
});
