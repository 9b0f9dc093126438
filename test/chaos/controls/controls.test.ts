import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTempDir, type TempDir } from '../../support/temp-dir.ts';
import { MODELLED } from '../simulation/controls.ts';
import { worldWith } from '../simulation/mutant.ts';
import { buildProduct } from './build.ts';
import { REAL, type RealControl } from './controls.ts';

const MOST_SEEDS = 2_000;
const WITHIN_MS = 300_000;
/** How often a bug of the real thing may be let go before it counts as not found. */
const LIVES = 8;
const ALL = Array.from({ length: 18 }, (_, at) => `N${at + 1}`);

const table: string[][] = [];
const found = new Set<string>();
let folder: TempDir;
beforeAll(async () => {
  folder = await makeTempDir();
});
afterAll(() => folder.remove());

function note(id: string, name: string, promise: string | undefined, effort: string): void {
  if (promise !== undefined) found.add(id);
  table.push([id, promise ?? 'NOT FOUND', effort, name]);
}

const seconds = (since: number) => `${((performance.now() - since) / 1_000).toFixed(1)} s`;

describe('the simulation finds', () => {
  test.each(MODELLED)(
    '$id: $name',
    async ({ id, name, breaks, ...control }) => {
      const startedAt = performance.now();
      const { playSeed } = await worldWith({ id, name, breaks, ...control }, folder.path);
      let promise: string | undefined;
      let seed = 0;
      while (promise === undefined && seed < MOST_SEEDS) {
        seed += 1;
        promise = (await playSeed(seed)).broken?.promise;
      }
      note(id, name, promise, `${seed} seeds, ${seconds(startedAt)}`);
      expect(breaks).toContain(promise);
    },
    WITHIN_MS,
  );
});

/** Runs with the clock beside the true one, as this process sees it. */
async function withClock<T>(ms: number, run: () => Promise<T>): Promise<T> {
  const TrueDate = globalThis.Date;
  globalThis.Date = class extends TrueDate {
    constructor(...given: ConstructorParameters<DateConstructor> | []) {
      if (given.length === 0) super(TrueDate.now() + ms);
      else super(...given);
    }
    static override now = () => TrueDate.now() + ms;
  } as DateConstructor;
  try {
    return await run();
  } finally {
    globalThis.Date = TrueDate;
  }
}

const clean = new Map<string, ReturnType<typeof play>>();

/** What is reported of the build without the bug: once for each scenario, however many bugs it finds. */
function playClean(control: RealControl): ReturnType<typeof play> {
  const name = `${control.play.name} ${control.clockMs}`;
  const known = clean.get(name) ?? play(control, false);
  clean.set(name, known);
  return known;
}

function play(control: RealControl, planted: boolean) {
  return withClock(control.clockMs ?? 0, async () => {
    const build = await buildProduct(planted ? control : undefined, control.needsCli === true);
    try {
      return await control.play(build);
    } finally {
      await build.remove();
    }
  });
}

describe('the real thing', () => {
  test.each(REAL)(
    '$id: $name',
    async (control) => {
      // Without the bug the same must show nothing: else it would be found whatever is planted.
      expect(await playClean(control)).toEqual([]);
      const startedAt = performance.now();
      const reported = new Set<string>();
      let named: readonly string[] = [];
      // Where it takes a death at the wrong moment, one life may be lucky.
      for (let life = 0; life < LIVES && named.length === 0; life += 1) {
        for (const { promise } of await play(control, true)) reported.add(promise);
        named = control.breaks.filter((promise) => reported.has(promise));
      }
      note(control.id, control.name, named.join(' ') || undefined, seconds(startedAt));
      expect(named, `reported: ${[...reported]}`).not.toEqual([]);
    },
    WITHIN_MS,
  );
});

test('18 of 18 planted bugs are found', () => {
  const rows = table.map((cells) => cells.map((cell, at) => cell.padEnd([13, 10, 18, 0][at] ?? 0)));
  process.stdout.write(`\n${rows.map((cells) => cells.join(' ')).join('\n')}\n`);
  expect(ALL.filter((id) => !found.has(id))).toEqual([]);
});
