import { parseArgs } from 'node:util';
import { findFaketime } from './clock.ts';
import { type Cell, cellsFor, fewCells, KILLS } from './faults.ts';
import { PROFILE_NAMES, type ProfileName } from './psp-world.ts';
import { Random } from './random.ts';
import { REDIS_NAMES, type RedisName } from './redis-world.ts';
import type { RunOptions } from './run.ts';

export const HELP = `npm run chaos -- [options]

Servers, Postgres, Redis and the PSP simulator as processes of their own, clients that retry, faults at
every point of a payment, and a check of everything that was promised.

  --minutes N      the longest that faults are made (default 5)
  --seed S         decides the workload and the faults (default: by the clock)
  --intents N      ends the faults once so many intents were begun and every cell was hit
  --faults N       with --intents: and once there were so many faults
  --min-cell N     how often each cell must be hit, or the run fails (default 1)
  --quick          death at every point, and each other fault at one point
  --kills          only the deaths of servers, at every point
  --only TEXT      only cells whose name contains this
  --without TEXT   no cells whose name contains this
  --pause S        the shortest time between two strikes at a server, in seconds (default 0.2)
  --redis NAME     ${REDIS_NAMES.join(', ')} (default plain)
  --psp-profile P  ${PROFILE_NAMES.join(', ')} (default: by the seed)
  --clients N      (default 24)
  --servers N      (default 2)
  --judge FOLDER   runs nothing; judges again what a failed run has kept there
  --help           this text

Progress goes to standard error. Ends with 0 if nothing promised was broken, every cell was hit and no
intent is missing, else with 1.
`;

export interface Chosen {
  readonly help: boolean;
  /** The folder of a run to be judged again. */
  readonly judge: string | undefined;
  readonly run: Omit<RunOptions, 'say'>;
}

/** @throws Error that names the option and what is accepted */
export function readOptions(args: readonly string[]): Chosen {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      intents: { type: 'string' },
      faults: { type: 'string' },
      'min-cell': { type: 'string', default: '1' },
      quick: { type: 'boolean', default: false },
      kills: { type: 'boolean', default: false },
      only: { type: 'string', default: '' },
      without: { type: 'string' },
      pause: { type: 'string', default: '0.2' },
      redis: { type: 'string', default: 'plain' },
      'psp-profile': { type: 'string' },
      clients: { type: 'string', default: '24' },
      servers: { type: 'string', default: '2' },
      judge: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const seed = Math.trunc(positive('seed', values.seed));
  const redis = oneOf<RedisName>('redis', values.redis, REDIS_NAMES);
  const random = new Random(seed, 'run');
  const profile = values['psp-profile'] ?? random.one(PROFILE_NAMES);
  const all = values.kills ? KILLS : cellsFor(redis);
  const cells = (values.quick ? fewCells(all, random) : all).filter(
    ({ id }) => id.includes(values.only) && !(values.without && id.includes(values.without)),
  );
  if (!values.help) demand(cells);
  return {
    help: values.help,
    judge: values.judge,
    run: {
      seed,
      redis,
      profile: oneOf<ProfileName>('psp-profile', profile, PROFILE_NAMES),
      cells,
      chaosMs: positive('minutes', values.minutes) * 60_000,
      intents: values.intents === undefined ? undefined : positive('intents', values.intents),
      faults: values.faults === undefined ? 0 : positive('faults', values.faults),
      minCell: positive('min-cell', values['min-cell']),
      pauseMs: positive('pause', values.pause) * 1_000,
      clients: positive('clients', values.clients),
      servers: positive('servers', values.servers),
    },
  };
}

function demand(cells: readonly Cell[]): void {
  if (cells.length === 0) throw new Error('--only and --without leave no cell');
  if (findFaketime() === undefined && cells.some(({ id }) => id.startsWith('F21')))
    throw new Error('libfaketime is needed for F21 (Debian: faketime); or say --without F21');
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new Error(`--${name} is ${text}; accepted: a number above 0`);
}

function oneOf<T extends string>(name: string, text: string, accepted: readonly T[]): T {
  const found = accepted.find((one) => one === text);
  if (found === undefined)
    throw new Error(`--${name} is ${text}; accepted: ${accepted.join(', ')}`);
  return found;
}
