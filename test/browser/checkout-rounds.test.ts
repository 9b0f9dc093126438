import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openStreet, type Shop, type Street } from '../support/checkout.ts';

const ROUNDS = 25;
/** They shop at the same time, each with two tabs of a browser of their own. */
const BUYERS = [
  { method: 'pm_ok', seed: 20_261 },
  { method: 'pm_ok', seed: 20_262 },
  { method: 'pm_slow_100', seed: 20_263 },
  { method: 'pm_slow_100', seed: 20_264 },
] as const;
const MOST_PAUSE_MS = 150;

/** What goes wrong in a round; the second tab is always open. */
const FAULTS: Readonly<Record<string, (shop: Shop, other: Shop, pause: Pause) => Promise<void>>> = {
  doubleClick: (shop) => shop.pay.dblclick(),
  secondTab: async (shop, other) => {
    await Promise.all([shop.pay.click(), other.pay.click()]);
  },
  reload: async (shop, _other, pause) => {
    await shop.pay.click();
    await pause();
    await shop.reload();
  },
  offline: async (shop, _other, pause) => {
    await shop.offline(true);
    await shop.pay.click();
    await pause();
    await shop.offline(false);
  },
  lineBreaks: async (shop, _other, pause) => {
    await shop.pay.click();
    await pause();
    await shop.offline(true);
    await pause();
    await shop.offline(false);
  },
  answerLost: async (shop) => {
    await shop.loseAnswers('once');
    await shop.pay.click();
  },
};

type Pause = () => Promise<void>;

describe('a hundred carts', () => {
  let street: Street;
  beforeAll(async () => {
    street = await openStreet();
  }, 120_000);
  afterAll(() => street?.end());

  test('whatever goes wrong, each is charged once and says so', { timeout: 590_000 }, async () => {
    const payments = (await Promise.all(BUYERS.map(buy))).flat();
    const executions = await street.simulator.executions();
    expect(payments).toHaveLength(100);
    expect(new Set(payments).size).toBe(100);
    expect(executions).toHaveLength(100);
    expect(new Set(executions.map(({ reference }) => reference)).size).toBe(100);
  });

  /** @returns the payment that every cart ended in */
  async function buy({ method, seed }: (typeof BUYERS)[number]): Promise<string[]> {
    const random = seeded(seed);
    const payments: string[] = [];
    const work = async (shop: Shop): Promise<void> => {
      const other = await shop.secondTab();
      const pause: Pause = () => shop.page.waitForTimeout(random() * MOST_PAUSE_MS);
      for (let round = 0; round < ROUNDS; round++) {
        const faults = twoOf(Object.keys(FAULTS), random);
        try {
          payments.push(await buyOnce(shop, other, faults, pause));
        } catch (cause) {
          throw new Error(`${method}, seed ${seed}, round ${round}: ${faults}`, { cause });
        }
      }
    };
    await street.shopping(method, work, { reducedMotion: 'reduce' });
    return payments;
  }
});

/** One cart: two faults, in one tab and then in the other, and the end that both have to show. */
async function buyOnce(
  shop: Shop,
  other: Shop,
  [first, second]: readonly [string, string],
  pause: Pause,
): Promise<string> {
  await FAULTS[first]?.(shop, other, pause);
  await pause();
  await FAULTS[second]?.(other, shop, pause);
  await Promise.all([shop.insist(), other.insist()]);
  await Promise.all([shop.showsOneCharge(), other.showsOneCharge()]);
  const payment = await shop.payment();
  expect(await other.payment()).toBe(payment);
  for (const tab of [shop, other]) await tab.loseAnswers('never');
  await shop.newOrder(other);
  return String(payment);
}

function twoOf(names: readonly string[], random: () => number): [string, string] {
  const any = () => names[Math.floor(random() * names.length)] ?? '';
  return [any(), any()];
}

/** The same numbers for the same seed (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
