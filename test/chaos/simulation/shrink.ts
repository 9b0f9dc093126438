import type { Choose } from './scheduler.ts';
import type { Setting, Verdict } from './world.ts';

export interface Shrunk {
  readonly setting: Setting;
  readonly verdict: Verdict;
  /** How many choices are not the usual one: each is a fault, a delay or another way. */
  readonly unusual: number;
}

type Play = (choose: Choose, setting: Setting) => Promise<Verdict>;

const MOST_RUNS = 3_000;

/**
 * The same broken promise with as little as possible: fewer clients, recoverers and repeats, and of the
 * choices as many as can be the usual one, the first (delta debugging over the list of choices).
 */
export async function shrink(play: Play, chosen: Choose, setting: Setting): Promise<Shrunk> {
  const taken: number[] = [];
  const recording: Choose = (count) => {
    const choice = chosen(count);
    taken.push(choice);
    return choice;
  };
  const first = await play(recording, setting);
  const promise = first.broken?.promise;
  let best = { setting, verdict: first, choices: taken };
  let runs = 0;
  const better = async (choices: readonly number[], tried: Setting): Promise<boolean> => {
    runs += 1;
    const verdict = await play(replay(choices), tried);
    if (promise === undefined || verdict.broken?.promise !== promise) return false;
    best = { setting: tried, verdict, choices: [...choices] };
    return true;
  };
  for (const member of ['clients', 'recoverers', 'asks'] as const) {
    while (best.setting[member] > 1) {
      const fewer = { ...best.setting, [member]: best.setting[member] - 1 };
      if (!(await better(best.choices, fewer))) break;
    }
  }
  for (let size = best.choices.length; size >= 1 && runs < MOST_RUNS; size = Math.floor(size / 2)) {
    for (let from = 0; from < best.choices.length && runs < MOST_RUNS; from += size) {
      const chunk = best.choices.slice(from, from + size);
      if (chunk.every((choice) => choice === 0)) continue;
      const usual = chunk.map(() => 0);
      await better(best.choices.toSpliced(from, size, ...usual), best.setting);
    }
  }
  const unusual = best.choices.filter((choice) => choice !== 0).length;
  return { setting: best.setting, verdict: best.verdict, unusual };
}

function replay(choices: readonly number[]): Choose {
  let at = 0;
  return (count) => {
    const choice = choices[at] ?? 0;
    at += 1;
    return choice % count;
  };
}
