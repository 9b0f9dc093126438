import { describe, expect, test } from 'vitest';
import { explore } from './explore.ts';
import { playSeed, SMALL } from './world.ts';

/** More of them: SEEDS=20000 npm run test:chaos. */
const SEEDS = Number(process.env['SEEDS'] ?? 2_000);
const FIRST_SEED = Number(process.env['SEED'] ?? 1);
const MOST_RUNS = 200_000;

const FAULTS = ['deaths before', 'deaths after', 'pauses before', 'pauses after', 'losses'];
const STEPS = ['claim', 'T1', 'charge', 'T2', 'remember', 'take over', 'look-up'];

describe('the protocol in simulation', () => {
  test(`keeps its promises under ${SEEDS} seeds, and each fault strikes each step`, async () => {
    const hits = new Map<string, number>();
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const verdict = await playSeed(seed);
      for (const [cell, count] of verdict.hits) hits.set(cell, (hits.get(cell) ?? 0) + count);
      const { broken, timeline } = verdict;
      expect(broken, `SEED=${seed} SEEDS=1\n${timeline.join('\n')}`).toBeUndefined();
    }
    const cells = FAULTS.flatMap((fault) => STEPS.map((step) => `${fault} ${step}`));
    expect(cells.filter((cell) => !hits.has(cell))).toEqual([]);
  }, 600_000);

  test('keeps them on every way of two clients, a recoverer, a crash and a lost reply', async () => {
    const { bad, complete } = await explore(SMALL, MOST_RUNS);
    expect(bad?.broken, bad?.timeline.join('\n')).toBeUndefined();
    expect(complete).toBe(true);
  }, 600_000);
});
