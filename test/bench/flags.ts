import { parseArgs } from 'node:util';

export interface Flags {
  readonly short: boolean;
  /** Sets of fresh processes. */
  readonly fresh: number;
  /** Rounds with each set. */
  readonly rounds: number;
  /** The length of one mode in one round. */
  readonly ms: number;
  /** Requests that the quickest modes are warmed up with; the others take a share of it. */
  readonly warmUp: number;
  /** Names of modes; undefined for all (or, in the short run, for those that it plays). */
  readonly modes: readonly string[] | undefined;
  readonly against: string | undefined;
  readonly faults: 'none' | 'ours' | 'all';
  readonly json: string;
}

const FAULTS = ['none', 'ours', 'all'] as const;

export const HELP = `npm run bench -- [options]

Starts its own Postgres, Redis, PSP and servers, plays every mode in every round, and prints medians
of ratios within a round, with the least and the most. Fails if a gate does: one execution a key, books
that balance, right answers, one charge a key under every fault, ratios above their floors.

  --short          at most a minute: one set of processes, short rounds, the modes of the targets
  --fresh N        sets of fresh processes (5; short 1)
  --rounds N       rounds with each set (2; short 3)
  --seconds S      length of a mode in a round (2; short 0.6)
  --modes a,b,c    only these modes; no-op is always played
  --against REF    also builds that commit in a folder of its own, and compares it in each round
  --faults WHICH   ${FAULTS.join(', ')}: whose correctness under faults is looked at (all; short ours)
  --json FILE      where every round is written to (bench.json)
  --help           this, and the modes
`;

/** @throws Error that names the option, what was given and what is accepted */
export function readFlags(args: readonly string[]): Flags | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      short: { type: 'boolean', default: false },
      fresh: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      modes: { type: 'string' },
      against: { type: 'string' },
      faults: { type: 'string' },
      json: { type: 'string', default: 'bench.json' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const { short } = values;
  const faults = FAULTS.find((one) => one === (values.faults ?? (short ? 'ours' : 'all')));
  if (faults === undefined) {
    throw new Error(`--faults is "${values.faults}"; accepted: ${FAULTS.join(', ')}.`);
  }
  return {
    short,
    fresh: positive('fresh', values.fresh ?? (short ? '1' : '5')),
    rounds: positive('rounds', values.rounds ?? (short ? '3' : '2')),
    ms: seconds(values.seconds ?? (short ? '0.6' : '2')) * 1_000,
    warmUp: short ? 2_000 : 20_000,
    modes: values.modes?.split(',').map((name) => name.trim()),
    against: values.against,
    faults,
    json: values.json,
  };
}

/** @throws Error if the text is not a whole number above 0 */
export function positive(flag: string, text: string): number {
  if (/^\d{1,9}$/.test(text) && Number(text) > 0) return Number(text);
  throw new Error(`--${flag} is "${text}"; accepted: a whole number above 0.`);
}

function seconds(text: string): number {
  if (/^\d{1,4}(\.\d{1,3})?$/.test(text) && Number(text) > 0) return Number(text);
  throw new Error(`--seconds is "${text}"; accepted: a number above 0, such as 2 or 0.5.`);
}
