import { type Choose, chooseBySeed } from './scheduler.ts';
import type { Setting, Verdict } from './world.ts';

export interface Shrunk {
  readonly setting: Setting;
  readonly verdict: Verdict;
  /** How many choices are not the usual one: each is a fault, a delay or another way. */
  readonly unusual: number;
}

type Play = (choose: Choose, setting: Setting) => Promise<Verdict>;

interface Case {
  readonly setting: Setting;
  readonly verdict: Verdict;
  readonly choices: readonly number[];
}

/** What is tried in turn: a small world shows more than a large one. */
const SMALLER = [
  { clients: 1, recoverers: 1, asks: 1 },
  { clients: 1, recoverers: 1, asks: 3 },
  { clients: 2, recoverers: 1, asks: 2 },
] as const;
const SEEDS_EACH = 300;
const MOST_RUNS = 3_000;

/**
 * The same promise broken with as little as possible: in a smaller world if any seed breaks it there, and
 * of the choices as many as can be the usual one, the first (delta debugging over the list of choices).
 */
export async function shrink(play: Play, chosen: Choose, setting: Setting): Promise<Shrunk> {
  const first = await record(play, chosen, setting);
  const promise = first.verdict.broken?.promise;
  const small = await smaller(play, setting, promise);
  const { verdict, choices, ...best } = await fewer(play, small ?? first, promise);
  return { ...best, verdict, unusual: choices.filter((choice) => choice !== 0).length };
}

async function smaller(
  play: Play,
  setting: Setting,
  promise: string | undefined,
): Promise<Case | undefined> {
  for (const size of SMALLER) {
    for (let seed = 1; seed <= SEEDS_EACH; seed += 1) {
      const tried = await record(play, chooseBySeed(seed), { ...setting, ...size });
      if (promise !== undefined && tried.verdict.broken?.promise === promise) return tried;
    }
  }
  return undefined;
}

async function fewer(play: Play, from: Case, promise: string | undefined): Promise<Case> {
  let best = from;
  let runs = 0;
  for (let size = best.choices.length; size >= 1; size = Math.floor(size / 2)) {
    for (let at = 0; at < best.choices.length && runs < MOST_RUNS; at += size) {
      const chunk = best.choices.slice(at, at + size);
      if (chunk.every((choice) => choice === 0)) continue;
      const choices = best.choices.toSpliced(at, size, ...chunk.map(() => 0));
      runs += 1;
      const verdict = await play(replay(choices), best.setting);
      if (verdict.broken?.promise === promise) best = { ...best, verdict, choices };
    }
  }
  return best;
}

/** Plays and keeps what was chosen. */
async function record(play: Play, chosen: Choose, setting: Setting): Promise<Case> {
  const choices: number[] = [];
  const recording: Choose = (count) => {
    const choice = chosen(count);
    choices.push(choice);
    return choice;
  };
  return { setting, verdict: await play(recording, setting), choices };
}

function replay(choices: readonly number[]): Choose {
  let at = 0;
  return (count) => {
    const choice = choices[at] ?? 0;
    at += 1;
    return choice % count;
  };
}
