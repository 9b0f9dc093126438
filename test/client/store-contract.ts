import { expect, it } from 'vitest';
import type { IntentRecord, IntentStore } from '../../src/client/index.ts';

export function recordOf(more: Partial<IntentRecord> = {}): IntentRecord {
  return {
    operation: 'CreatePayment',
    key: 'key-1',
    paramsHash: 'hash',
    phase: 'minted',
    createdAt: 1,
    changedAt: 1,
    attempts: 0,
    ...more,
  };
}

/**
 * What every store promises. `open` gives another tab or process on the same data; one store alone
 * is its own other tab.
 */
export function storeContract(open: () => IntentStore | Promise<IntentStore>): void {
  const place = () => `CreatePayment:${Math.random()}`;
  const minted = recordOf();
  const sent = recordOf({ phase: 'sent', attempts: 1, lateUntil: undefined });

  it('gives back what was written', async () => {
    const [one, other] = [await open(), await open()];
    const at = place();
    expect(await one.read(at)).toBeUndefined();
    expect(await one.swap(at, undefined, minted)).toBe(true);
    expect(await other.read(at)).toEqual(minted);
    expect(await other.swap(at, minted, sent)).toBe(true);
    const read = await one.read(at);
    expect(read).toMatchObject({ phase: 'sent', attempts: 1 });
    expect(await one.swap(at, read, undefined)).toBe(true);
    expect(await other.read(at)).toBeUndefined();
  });

  it('writes only over what was expected', async () => {
    const store = await open();
    const at = place();
    expect(await store.swap(at, minted, sent)).toBe(false);
    expect(await store.swap(at, undefined, minted)).toBe(true);
    expect(await store.swap(at, undefined, sent)).toBe(false);
    expect(await store.swap(at, sent, minted)).toBe(false);
    expect(await store.read(at)).toEqual(minted);
  });

  it('lets one of many writers win', async () => {
    const stores = await Promise.all([open(), open()]);
    const at = place();
    const keys = Array.from({ length: 20 }, (_, index) => `key-${index}`);
    const won = await Promise.all(
      keys.map((key, index) =>
        (stores[index % 2] as IntentStore).swap(at, undefined, recordOf({ key })),
      ),
    );
    expect(won.filter(Boolean)).toHaveLength(1);
    expect((await stores[0]?.read(at))?.key).toBe(keys[won.indexOf(true)]);
  });

  it('runs exclusive work one after the other', async () => {
    const stores = await Promise.all([open(), open()]);
    const at = place();
    let inside = 0;
    const work = async (): Promise<number> => {
      inside += 1;
      const alone = inside === 1;
      await new Promise((resolve) => setTimeout(resolve, 5));
      inside -= 1;
      return alone ? 1 : 0;
    };
    const turns = Array.from({ length: 8 }, (_, index) =>
      (stores[index % 2] as IntentStore).exclusive(at, work),
    );
    expect(await Promise.all(turns)).toEqual(Array(8).fill(1));
  });

  it('frees the place when the work throws, and hands the error on', async () => {
    const store = await open();
    const at = place();
    const failing = store.exclusive(at, () => Promise.reject(new Error('of the work')));
    await expect(failing).rejects.toThrow('of the work');
    expect(await store.exclusive(at, async () => 'free')).toBe('free');
  });

  it('lists what it holds', async () => {
    const store = await open();
    const at = place();
    await store.swap(at, undefined, minted);
    await store.exclusive(at, async () => {});
    const held = (await store.list()).filter(([where]) => where === at);
    expect(held).toEqual([[at, minted]]);
  });
}
