import { expect, it } from 'vitest';
import { type IntentStore, memoryStore, type Transport } from '../../src/client/index.ts';
import type { Fault } from '../../src/client/testing/index.ts';
import { onFakeTime } from './clock.ts';
import { CART, euros, shop } from './shop.ts';

/** A lease that ended too early: everybody is let in at once. */
function unlocked(): IntentStore {
  return { ...memoryStore(), exclusive: (_place, work) => work() };
}

/** One tab never hears an answer, while another goes on with the same intent. */
async function besideDeafTab(faults: readonly Fault[], runs: number) {
  const { open, server, store } = shop(faults, { store: unlocked() });
  const deaf: Transport = () => new Promise(() => {});
  return onFakeTime(async () => {
    const first = open().run('createPayment', euros(500), { ...CART, transport: deaf });
    await new Promise((resolve) => setTimeout(resolve, 1));
    const ends = [];
    for (let run = 0; run < runs; run += 1) {
      ends.push((await open().run('createPayment', euros(500), CART)).kind);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    expect((await first).kind).toBe('unknown');
    const [[, record] = []] = await store.list();
    return { ends, server, record, last: await open().run('createPayment', euros(500), CART) };
  });
}

it('without a lock, what is settled stays settled', async () => {
  const { ends, server, record, last } = await besideDeafTab([], 1);
  expect(ends).toEqual(['settled']);
  expect(record?.phase).toBe('settled');
  expect(last).toMatchObject({ kind: 'settled', replayed: true });
  expect(server.charges).toHaveLength(1);
});

it('without a lock, a newer key is not forgotten for an older one', async () => {
  const faults: readonly Fault[] = ['decline', ...Array(5).fill('dropAnswer')];
  const { ends, server, record, last } = await besideDeafTab(faults, 2);
  expect(ends).toEqual(['declined', 'unknown']);
  expect(record?.key).toBe(server.keys()[1]);
  expect(last).toMatchObject({ kind: 'settled', replayed: true });
  expect(server.charges).toHaveLength(1);
});
