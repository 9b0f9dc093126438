import type { Round } from './load.ts';

/** One way of measuring one system, or one tool. */
export interface Mode {
  readonly name: string;
  readonly title: string;
  /** The system it asks. */
  readonly system: string;
  /** Who makes the load: our generator, a worker with the product's journal, or pgbench. */
  readonly by: 'load' | 'journal' | 'pgbench';
  readonly round: Pick<Round, 'keys' | 'concurrency' | 'duplicates'>;
  readonly paymentMethod: string;
  /**
   * `emptied`: its Redis, before each round. `rested`: Redis has all answers, and no server has been
   * asked for them for so long that it has none of them in its own memory.
   */
  readonly redis: 'as it is' | 'emptied' | 'rested';
  /** Requests before it is measured, as a share of those of the quickest modes. */
  readonly warmUp: number;
  /** How many times as long as the other modes: where few answers come in a second. */
  readonly stretch: number;
  /** Played where no modes are named. */
  readonly played: 'always' | 'in full';
}

const USUAL = {
  by: 'load',
  round: { keys: 'new', concurrency: 64 },
  paymentMethod: 'pm_ok',
  redis: 'as it is',
  warmUp: 0.5,
  stretch: 1,
  played: 'in full',
} as const;

type Given = Partial<Mode> & Pick<Mode, 'name' | 'title' | 'system'>;
const mode = (given: Given): Mode => ({ ...USUAL, ...given });

/** What everything is compared with; every run plays it. */
export const REFERENCE = 'no-op';

/** New payments and replays of a system. */
export function pairOf(system: string, title: string, more: Partial<Mode> = {}): readonly Mode[] {
  const again = { ...USUAL.round, keys: 'recent' } as const;
  return [
    mode({ name: `new@${system}`, title: `new payment, ${title}`, system, warmUp: 0.25, ...more }),
    mode({ name: `replay@${system}`, title: `replay, ${title}`, system, ...more, round: again }),
  ];
}

const SLOW = { paymentMethod: 'pm_slow_50', warmUp: 0.05, system: 'semel' } as const;
const IN_SHORT = { played: 'always' } as const;

export const MODES: readonly Mode[] = [
  mode({ name: 'echo', title: 'raw node:http echo', system: 'echo', warmUp: 1, ...IN_SHORT }),
  mode({ name: REFERENCE, title: 'no-op mutation', system: 'noop', warmUp: 1, ...IN_SHORT }),
  mode({ name: 'new', title: 'new payment', system: 'semel', ...IN_SHORT }),
  mode({
    name: 'new-256',
    title: 'new payment, c=256',
    system: 'semel',
    round: { keys: 'new', concurrency: 256 },
    ...IN_SHORT,
  }),
  mode({
    name: 'replay',
    title: 'replay of a late answer',
    system: 'semel',
    round: { keys: 'recent', concurrency: 64 },
    warmUp: 1,
    ...IN_SHORT,
  }),
  mode({
    name: 'replay-redis',
    title: 'replay from Redis',
    system: 'semel',
    round: { keys: 'each', concurrency: 64 },
    redis: 'rested',
    warmUp: 0.25,
  }),
  mode({
    name: 'replay-journal',
    title: 'replay from the journal (Redis emptied)',
    system: 'semel',
    round: { keys: 'each', concurrency: 64 },
    redis: 'emptied',
    warmUp: 0.25,
  }),
  mode({
    name: 'storm',
    title: 'storm: 100 duplicates a key, 2 processes',
    system: 'semel',
    round: { keys: 'new', concurrency: 1, duplicates: 100 },
    warmUp: 0.001,
    ...IN_SHORT,
  }),
  mode({ ...SLOW, name: 'slow', title: 'new payment, PSP 50 ms' }),
  mode({
    ...SLOW,
    name: 'slow-256',
    title: 'new payment, PSP 50 ms, c=256',
    round: { keys: 'new', concurrency: 256 },
  }),
  mode({
    ...SLOW,
    name: 'slow-1',
    title: 'new payment, PSP 50 ms, c=1',
    round: { keys: 'new', concurrency: 1 },
    warmUp: 0.001,
    stretch: 3,
  }),
  mode({
    name: 'journal',
    title: 'journal only',
    system: 'journal',
    by: 'journal',
    ...IN_SHORT,
  }),
  mode({
    name: 'journal-256',
    title: 'journal only, c=256',
    system: 'journal',
    by: 'journal',
    round: { keys: 'new', concurrency: 256 },
  }),
  mode({
    name: 'pgbench',
    title: 'pgbench, the two commits, 8 clients',
    system: 'pgbench',
    by: 'pgbench',
    warmUp: 0,
    ...IN_SHORT,
  }),
  ...pairOf('lock', 'lock in Redis', IN_SHORT),
  ...pairOf('powertools', 'Powertools'),
  ...pairOf('node-idempotency', 'node-idempotency'),
  ...pairOf('express-idempotency', 'express-idempotency', { warmUp: 0.15 }),
  ...pairOf('recovery-points', 'recovery points, Postgres alone', { warmUp: 0.05 }),
  ...pairOf('default-stack', 'default GraphQL stack', { warmUp: 0.15 }),
];

/** Another build of Semel beside this one. */
export const AGAINST: readonly Mode[] = [
  ...pairOf('against', 'the other commit', { warmUp: 0.5 }),
  mode({
    name: 'new-256@against',
    title: 'new payment, c=256, the other commit',
    system: 'against',
    round: { keys: 'new', concurrency: 256 },
  }),
];

const BESIDE_AGAINST = [REFERENCE, 'new', 'new-256', 'replay'];

/** @throws Error that names a mode there is none of */
export function chooseModes(flags: {
  readonly short: boolean;
  readonly modes: readonly string[] | undefined;
  readonly against: string | undefined;
}): readonly Mode[] {
  const all = flags.against === undefined ? MODES : [...MODES, ...AGAINST];
  const unknown = flags.modes?.find((name) => !all.some((one) => one.name === name));
  if (unknown !== undefined) {
    const names = all.map(({ name }) => name).join(', ');
    throw new Error(`There is no mode "${unknown}"; accepted: ${names}.`);
  }
  return all.filter(({ name, played, system }) => {
    if (name === REFERENCE) return true;
    if (flags.modes !== undefined) return flags.modes.includes(name);
    if (flags.against !== undefined) return BESIDE_AGAINST.includes(name) || system === 'against';
    return played === 'always' || !flags.short;
  });
}
