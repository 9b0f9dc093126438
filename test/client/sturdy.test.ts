import { describe, expect, it } from 'vitest';
import { type IntentStore, memoryStore } from '../../src/client/index.ts';
import { onFakeTime } from './clock.ts';
import { CART, euros, shop } from './shop.ts';
import { storeContract } from './store-contract.ts';

describe('the store in memory', () => {
  const store = memoryStore();
  storeContract(() => store);
});

/** A durable store that throws from the `n`th call on. */
function failing(n: number, more: Partial<IntentStore> = {}): IntentStore {
  const inner = memoryStore();
  let calls = 0;
  const count = (): void => {
    calls += 1;
    if (calls >= n) throw new Error('disk full');
  };
  return {
    ...inner,
    durability: 'durable',
    read: async (place) => {
      count();
      return inner.read(place);
    },
    swap: async (place, expected, next) => {
      count();
      return inner.swap(place, expected, next);
    },
    ...more,
  };
}

describe('a store that throws', () => {
  it.each([1, 2, 3, 4, 5, 6])('at call %d is replaced by memory, which is said', async (n) => {
    const { pay, server, storeFailures } = shop(['dropAnswer'], { store: failing(n) });
    expect(pay.durability).toBe('durable');
    const ends = await onFakeTime(async () => [
      await pay.run('createPayment', euros(500), CART),
      await pay.run('createPayment', euros(500), CART),
    ]);
    expect(ends.map(({ kind }) => kind)).toEqual(['settled', 'settled']);
    expect(pay.durability).toBe('memory');
    expect(storeFailures).toEqual([new Error('disk full')]);
    expect(server.keys()).toHaveLength(1);
    expect(server.charges).toHaveLength(1);
  });

  it('and whose lock fails is replaced, too', async () => {
    const exclusive = () => Promise.reject(new Error('no locks'));
    const { pay, server } = shop([], { store: failing(99, { exclusive }) });
    expect((await pay.run('createPayment', euros(500), CART)).kind).toBe('settled');
    expect(pay.durability).toBe('memory');
    expect(server.charges).toHaveLength(1);
  });

  it('does not forget what it had said before it failed', async () => {
    const store = memoryStore();
    const { pay: before, server } = shop(Array(5).fill('dropAnswer'), { store });
    const weak: IntentStore = { ...store, swap: () => Promise.reject(new Error('full')) };
    const { pay: after } = shop([], { server, store: weak });
    await onFakeTime(async () => {
      await before.run('createPayment', euros(500), CART);
      expect((await after.run('createPayment', euros(900), CART)).kind).toBe('blocked');
      const end = await after.run('createPayment', euros(500), CART);
      expect(end).toMatchObject({ kind: 'settled', replayed: true });
    });
    expect(server.keys()).toHaveLength(1);
  });

  it('and must not be done without sends nothing', async () => {
    const { pay, server } = shop([], { store: failing(2, { onFailure: 'refuse' }) });
    const end = await pay.run('createPayment', euros(500), CART);
    expect(end).toMatchObject({ kind: 'rejected', problem: { code: 'STORE_UNAVAILABLE' } });
    expect(server.requests).toEqual([]);
    expect(pay.durability).toBe('durable');
  });

  it('after the answer has come takes nothing from the outcome', async () => {
    const { pay } = shop([], { store: failing(5, { onFailure: 'refuse' }) });
    expect((await pay.run('createPayment', euros(500), CART)).kind).toBe('settled');
  });
});
