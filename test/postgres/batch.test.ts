import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Batch, type BatchOptions } from '../../src/postgres/batch.ts';
import { Gate } from '../../src/postgres/gate.ts';
import { NotRun } from '../../src/postgres/not-run.ts';

class Everybody extends Error {}

/** Doubles numbers; a negative one spoils the whole statement. */
function doubling(more: Partial<BatchOptions<number, number>> = {}) {
  const statements: number[][] = [];
  const batch = new Batch<number, number>({
    run: async (items) => {
      statements.push([...items]);
      await sleep(1);
      if (items.some((item) => item < 0)) throw new Error('a bad row');
      return items.map((item) => item * 2);
    },
    budgetMs: 5_000,
    maxItems: 512,
    maxWaiting: 1_000,
    slots: 2,
    concernsAll: (error) => error instanceof Everybody,
    ...more,
  });
  return { batch, statements };
}

describe('a batch', () => {
  test('gathers what comes in one turn, and answers each', async () => {
    const { batch, statements } = doubling();
    expect(await Promise.all([1, 2, 3].map((item) => batch.add(item)))).toEqual([2, 4, 6]);
    expect(statements).toEqual([[1, 2, 3]]);
  });

  test('of one leaves at once', async () => {
    const { batch, statements } = doubling();
    expect(await batch.add(1)).toBe(2);
    expect(statements).toHaveLength(1);
  });

  test('gathers while all slots are busy, and is never larger than may be', async () => {
    const { batch, statements } = doubling({ maxItems: 10, slots: 1 });
    await Promise.all(Array.from({ length: 35 }, (_, item) => batch.add(item)));
    expect(statements.map((items) => items.length)).toEqual([10, 10, 10, 5]);
  });

  test('whose bad rows are wherever: they fail alone, and few statements find them', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: -3, max: 50 }), { minLength: 1, maxLength: 40 }),
        async (items) => {
          const { batch, statements } = doubling();
          const results = await Promise.allSettled(items.map((item) => batch.add(item)));
          const bad = items.filter((item) => item < 0).length;
          expect(results).toEqual(
            items.map((item) =>
              item < 0
                ? { status: 'rejected', reason: new Error('a bad row') }
                : { status: 'fulfilled', value: item * 2 },
            ),
          );
          const most = 1 + bad * 2 * Math.ceil(Math.log2(items.length));
          expect(statements.length).toBeLessThanOrEqual(most);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('whose error concerns all is not tried again', async () => {
    let statements = 0;
    const { batch } = doubling({
      run: async () => {
        statements += 1;
        throw new Everybody();
      },
    });
    const results = await Promise.allSettled([1, 2, 3].map((item) => batch.add(item)));
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(statements).toBe(1);
  });

  test('refuses what is more than may wait, and goes on afterwards', async () => {
    const { batch } = doubling({ maxWaiting: 5 });
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, item) => batch.add(item)),
    );
    const refused = results.filter((result) => result.status === 'rejected');
    expect(refused).toHaveLength(3);
    for (const { reason } of refused) expect(reason).toBeInstanceOf(NotRun);
    expect(await batch.add(4)).toBe(8);
  });

  test('refuses what has waited for as long as it may', async () => {
    const statements: number[][] = [];
    const { batch } = doubling({
      budgetMs: 50,
      slots: 1,
      run: async (items) => {
        statements.push([...items]);
        await sleep(120);
        return items;
      },
    });
    const first = batch.add(1);
    await sleep(10);
    await expect(batch.add(2)).rejects.toBeInstanceOf(NotRun);
    expect(await first).toBe(1);
    expect(statements).toEqual([[1]]);
    expect(await batch.add(3)).toBe(3);
  });

  test('tells each statement how much time there is', async () => {
    const budgets: number[] = [];
    const { batch } = doubling({
      budgetMs: 400,
      slots: 1,
      run: async (items, budgetMs) => {
        budgets.push(budgetMs);
        await sleep(100);
        return items;
      },
    });
    const first = batch.add(1);
    await sleep(10);
    await Promise.all([first, batch.add(2)]);
    expect(budgets[0]).toBeGreaterThan(350);
    expect(budgets[1]).toBeGreaterThanOrEqual(200);
    expect(budgets[1]).toBeLessThan(350);
  });
});

describe('a gate', () => {
  test('lets in so many, then the one who has waited longest', async () => {
    const gate = new Gate(2, 10);
    const order: string[] = [];
    await Promise.all([gate.enter(100), gate.enter(100)]);
    const third = gate.enter(5_000).then(() => order.push('third'));
    const fourth = gate.enter(5_000).then(() => order.push('fourth'));
    await sleep(5);
    expect(order).toEqual([]);
    gate.leave();
    await third;
    gate.leave();
    await fourth;
    expect(order).toEqual(['third', 'fourth']);
  });

  test('lets nobody wait longer than they can, and keeps their place for nobody', async () => {
    const gate = new Gate(1, 10);
    await gate.enter(100);
    await expect(gate.enter(20)).rejects.toBeInstanceOf(NotRun);
    await expect(gate.enter(-5)).rejects.toBeInstanceOf(NotRun);
    gate.leave();
    await gate.enter(20);
    gate.leave();
  });

  test('has a line of bounded length', async () => {
    const gate = new Gate(1, 1);
    await gate.enter(100);
    const waiting = gate.enter(1_000);
    await expect(gate.enter(1_000)).rejects.toBeInstanceOf(NotRun);
    gate.leave();
    await waiting;
  });
});
