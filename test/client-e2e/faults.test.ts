import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../e2e/world.ts';
import { TEST_API_KEY } from '../support/with-server.ts';
import { CONTROLS, OURS, type Page } from './pages.ts';
import { type Relay, startRelay, type Trouble } from './relay.ts';

interface Situation {
  readonly troubles: readonly Trouble[];
  readonly presses?: number;
  readonly paymentMethod?: string;
  /** The server never hears of the first request: even a careless page pays once. */
  readonly harmless?: true;
}

const SITUATIONS: Readonly<Record<string, Situation>> = {
  'the answer is dropped after the charge': { troubles: ['dropAnswer'] },
  'the button is pressed twice': { troubles: ['dropAnswer'], presses: 2 },
  'the bank is slow and the gateway gives up': {
    troubles: [{ gateway: 504, afterMs: 150 }],
    paymentMethod: 'pm_slow_700',
  },
  'the gateway loses the answer': { troubles: [{ gateway: 502 }, 'reset', { gateway: 502 }] },
  'the network goes away and comes back': { troubles: [{ offlineMs: 600 }] },
  'the connection fails before the server hears': { troubles: ['reset', 'reset'], harmless: true },
  'the answer is slow': { troubles: [{ delayMs: 300 }], harmless: true },
};

let world: World;
let relay: Relay;
let amounts = 1_000;

beforeAll(async () => {
  world = await startWorld();
  relay = await startRelay((await world.server()).url);
}, 120_000);

afterAll(async () => {
  await relay?.close();
  await world?.end();
}, 60_000);

/** Opens the page in a situation, and asks the PSP's own books how often the amount was charged. */
async function buy(page: Page, situation: Situation) {
  const { troubles, presses = 1, paymentMethod = 'pm_ok' } = situation;
  amounts += 1;
  const amountMinor = amounts;
  const press = page({
    endpoint: `${relay.url}/graphql`,
    apiKey: TEST_API_KEY,
    cart: `cart:${amountMinor}:1`,
    input: { amount: { amountMinor, currency: 'EUR' }, paymentMethod },
  });
  relay.script(...troubles);
  const statuses = await Promise.all(Array.from({ length: presses }, press));
  expect(relay.left).toBe(0);
  const executions = (await world.simulator.executions()).filter(
    (one) => one.amountMinor === amountMinor,
  );
  return { statuses, executions: executions.length };
}

const cases = (pages: Readonly<Record<string, Page>>) =>
  Object.entries(pages).flatMap(([name, page]) =>
    Object.entries(SITUATIONS).map(([what, situation]) => [name, what, page, situation] as const),
  );

describe('one charge and a settled page', () => {
  it.each(cases(OURS))('%s: %s', async (_name, _what, page, situation) => {
    const { statuses, executions } = await buy(page, situation);
    expect(statuses).toEqual(statuses.map(() => 'CAPTURED'));
    expect(executions).toBe(1);
  });
});

describe('control: without ours, a second charge', () => {
  const harmful = cases(CONTROLS).filter(([, , , { harmless }]) => !harmless);
  it.each(harmful)('%s: %s', async (_name, _what, page, situation) => {
    const { executions } = await buy(page, situation);
    expect(executions).toBeGreaterThanOrEqual(2);
  });
});
