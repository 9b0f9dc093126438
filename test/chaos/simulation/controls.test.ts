import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeTempDir, type TempDir } from '../../support/temp-dir.ts';
import { CONTROLS } from './controls.ts';
import { worldWith } from './mutant.ts';

const MOST_SEEDS = 2_000;

let folder: TempDir;
beforeAll(async () => {
  folder = await makeTempDir();
});
afterAll(() => folder.remove());

test.each(CONTROLS)(
  'a planted bug is found: $name',
  async (control) => {
    const { playSeed } = await worldWith(control, folder.path);
    let promise: string | undefined;
    for (let seed = 1; seed <= MOST_SEEDS && promise === undefined; seed += 1) {
      promise = (await playSeed(seed)).broken?.promise;
    }
    expect(control.breaks).toContain(promise);
  },
  120_000,
);
