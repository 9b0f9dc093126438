import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { memoryStore } from '../../src/client/index.ts';
import { type Fault, fakeServer } from '../../src/client/testing/index.ts';
import { drive } from './clock.ts';
import { CART, euros, shop } from './shop.ts';

const fault = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Fault>('ok') },
  {
    weight: 10,
    arbitrary: fc.constantFrom<Fault>(
      'dropRequest',
      'dropAnswer',
      'late',
      'duplicate',
      'truncated',
      'busy',
      'unavailable',
      'internal',
      'unauthenticated',
      'badInput',
      'broken',
      'decline',
      'pspUnavailable',
      'pending',
      { limited: 1 },
      { limited: 100 },
      { slow: 500 },
      { slow: 30_000 },
    ),
  },
);

/** What a buyer does: on which tab, with which amount, and how impatiently. */
const step = fc.record({
  tab: fc.constantFrom(0, 1),
  act: fc.constantFrom('pay', 'pay', 'pay', 'resume', 'reload'),
  amount: fc.constantFrom(500, 500, 500, 900),
  leavesAfterMs: fc.option(fc.integer({ min: 0, max: 5_000 })),
  waits: fc.boolean(),
});

interface Step {
  readonly tab: number;
  readonly act: string;
  readonly amount: number;
  readonly leavesAfterMs: number | null;
  readonly waits: boolean;
}

async function live(faults: readonly Fault[], steps: readonly Step[]) {
  const server = fakeServer(...faults);
  const { open } = shop([], { server, store: memoryStore() });
  const tabs = [open(), open()];
  const running: Promise<unknown>[] = [];
  for (const { tab, act, amount, leavesAfterMs, waits } of steps) {
    const pay = tabs[tab] ?? open();
    const leaves = new AbortController();
    if (leavesAfterMs !== null) setTimeout(() => leaves.abort(), leavesAfterMs);
    const call = { ...CART, signal: leaves.signal };
    if (act === 'reload') tabs[tab] = open();
    else if (act === 'resume') running.push(pay.resume('createPayment', call));
    else running.push(pay.run('createPayment', euros(amount), call));
    if (waits) await running.at(-1);
  }
  await Promise.all(running);
  return { server, open };
}

/** A look-up that waits for its turn while the key goes on to another amount; found by chance. */
const STALE_LOOK_UP: [Fault[], Step[]] = [
  [{ limited: 1 }, 'pending', 'ok', 'ok', 'pending', 'ok', 'pspUnavailable', 'dropRequest'],
  [
    { tab: 1, act: 'pay', amount: 500, leavesAfterMs: 4, waits: true },
    { tab: 1, act: 'pay', amount: 900, leavesAfterMs: 2, waits: false },
    { tab: 1, act: 'pay', amount: 500, leavesAfterMs: 903, waits: false },
    { tab: 0, act: 'resume', amount: 900, leavesAfterMs: 4998, waits: true },
    { tab: 1, act: 'reload', amount: 900, leavesAfterMs: 3274, waits: false },
    { tab: 0, act: 'resume', amount: 500, leavesAfterMs: null, waits: false },
    { tab: 1, act: 'pay', amount: 500, leavesAfterMs: 3944, waits: false },
    { tab: 0, act: 'resume', amount: 900, leavesAfterMs: 1, waits: true },
  ],
];

/**
 * A try that was lost, of a payment that was not sent so far: it may still arrive, so that another amount
 * gets its new key only once it no longer can. A buyer in no hurry gets there; found by chance.
 */
const LOST_MEANWHILE: [Fault[], Step[]] = [
  ['pspUnavailable', 'internal', 'busy', 'badInput'],
  [
    { tab: 1, act: 'pay', amount: 900, leavesAfterMs: 2_900, waits: false },
    { tab: 1, act: 'pay', amount: 500, leavesAfterMs: 1_111, waits: true },
  ],
];

describe('under any faults', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('a scope is charged at most once', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fault, { maxLength: 25 }),
        fc.array(step, { minLength: 1, maxLength: 8 }),
        async (faults, steps) => {
          const { server } = await drive(live(faults, steps));
          expect(server.charges.length).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 400 },
    );
  });

  it('and exactly once as soon as all is well again', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fault, { maxLength: 25 }),
        fc.array(step, { minLength: 1, maxLength: 8 }),
        async (faults, steps) => {
          const charges = await drive(
            live(faults, steps).then(async ({ server, open }) => {
              await heal(open());
              return server.charges;
            }),
          );
          expect(charges).toHaveLength(1);
        },
      ),
      { numRuns: 200, endOnFailure: true, examples: [STALE_LOOK_UP, LOST_MEANWHILE] },
    );
  });
});

/** Between two tries of the buyer, in ms: forty take longer than a lost try can be on its way. */
const BREATH_MS = 5_000;

/** A buyer who does what the outcomes say, until the cart is paid. */
async function heal(pay: ReturnType<typeof shop>['pay']): Promise<void> {
  for (let tries = 0; tries < 40; tries += 1) {
    if (tries > 0) await new Promise((goOn) => setTimeout(goOn, BREATH_MS));
    let end = await pay.run('createPayment', euros(500), CART);
    if (end.kind === 'blocked') end = await end.settleFirst();
    if (end.kind === 'processing') end = await end.follow();
    if (end.kind === 'settled') return;
    if (end.kind === 'rejected' && end.problem.code === 'SCOPE_SETTLED') return;
  }
  throw new Error('It was never paid.');
}
