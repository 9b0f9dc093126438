import { expect, test } from 'vitest';
import { KILLS } from './faults.ts';
import { report } from './report.ts';
import { run } from './run.ts';

const SEED = Number(process.env['SEED'] ?? 1);

/** What every change has to stand; `npm run chaos` does more, for as long as one likes. */
test('300 intents, and servers that die at every point: nothing promised is broken', async () => {
  const result = await run({
    seed: SEED,
    chaosMs: 150_000,
    intents: 300,
    minCell: 1,
    cells: KILLS,
    clients: 16,
    servers: 2,
    say: (line) => console.log(line),
  });
  console.log([`seed ${SEED}`, ...report(result)].join('\n'));
  expect(result.verdict.violations).toEqual([]);
  expect(result.unhit).toEqual([]);
  expect(result.evidence.executions.length).toBeGreaterThan(100);
});
