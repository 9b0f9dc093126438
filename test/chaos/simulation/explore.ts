import { createHash } from 'node:crypto';
import type { Setting, Verdict } from './world.ts';
import { play } from './world.ts';

export interface Explored {
  readonly runs: number;
  readonly states: number;
  /** False if the runs were used up before every way had been gone. */
  readonly complete: boolean;
  readonly bad: Verdict | undefined;
}

/**
 * Goes every way that a small setting can go, depth first: each run replays the choices that led to
 * a fork and takes the next way there. A state that was met before is not gone on from.
 */
export async function explore(setting: Setting, mostRuns: number): Promise<Explored> {
  const known = new Set<string>();
  let path: { taken: number; count: number }[] = [];
  for (let runs = 1; runs <= mostRuns; runs += 1) {
    const prefix = path.length;
    let depth = 0;
    const choose = (count: number): number => {
      const here = path[depth] ?? { taken: 0, count };
      path[depth] = here;
      depth += 1;
      return here.taken;
    };
    const isKnown = (state: string): boolean => {
      if (depth < prefix) return false;
      const name = createHash('sha1').update(state).digest('base64');
      if (known.has(name)) return true;
      known.add(name);
      return false;
    };
    const verdict = await play(choose, setting, isKnown);
    if (verdict.broken !== undefined) {
      return { runs, states: known.size, complete: false, bad: verdict };
    }
    path = path.slice(0, depth);
    while (path.length > 0 && isSpent(path.at(-1))) path.pop();
    const last = path.at(-1);
    if (last === undefined) return { runs, states: known.size, complete: true, bad: undefined };
    last.taken += 1;
  }
  return { runs: mostRuns, states: known.size, complete: false, bad: undefined };
}

function isSpent(fork: { taken: number; count: number } | undefined): boolean {
  return fork !== undefined && fork.taken + 1 >= fork.count;
}
