import { type RoundOfAll, rateRatio, valuesOf } from './measured.ts';
import { REFERENCE } from './modes.ts';
import { type Spread, spread } from './statistics.ts';

/** A figure of one round that is compared with a target; only ratios and differences within a round. */
export interface Quantity {
  readonly name: string;
  readonly of: (round: RoundOfAll) => number | undefined;
  readonly aim: 'at least' | 'at most';
  readonly target: number;
  /** Beyond it the run fails. Loose: it must hold on a disturbed machine. Null: not held to one. */
  readonly floor: number | null;
}

const PSP_MS = 50;

const atLeast = (
  name: string,
  of: Quantity['of'],
  target: number,
  floor: number | null,
): Quantity => ({ name, of, aim: 'at least', target, floor });
const atMost = (name: string, of: Quantity['of'], target: number): Quantity => ({
  name,
  of,
  aim: 'at most',
  target,
  floor: null,
});

function latency(mode: string, which: 'p50Ms' | 'p99Ms') {
  return (round: RoundOfAll): number | undefined => round.get(mode)?.[which] ?? undefined;
}

function tailRatio(mode: string, base: string) {
  return (round: RoundOfAll): number | undefined => {
    const [above, below] = [latency(mode, 'p99Ms')(round), latency(base, 'p99Ms')(round)];
    return above === undefined || below === undefined ? undefined : above / below;
  };
}

const overPsp = (which: 'p50Ms' | 'p99Ms') => (round: RoundOfAll) => {
  const took = latency('slow-1', which)(round);
  return took === undefined ? undefined : took - PSP_MS;
};

/** Every target and every floor, in one place. */
export const QUANTITIES: readonly Quantity[] = [
  atLeast('no-op / raw echo', rateRatio(REFERENCE, 'echo'), 0.45, 0.2),
  atLeast('new / no-op', rateRatio('new', REFERENCE), 0.4, 0.03),
  atLeast('new c=256 / no-op', rateRatio('new-256', REFERENCE), 0.45, 0.03),
  atLeast('replay / no-op', rateRatio('replay', REFERENCE), 0.97, 0.15),
  atLeast('replay from Redis / no-op', rateRatio('replay-redis', REFERENCE), 0.97, 0.1),
  atLeast('replay from the journal / no-op', rateRatio('replay-journal', REFERENCE), 0.3, null),
  atLeast('journal only / pgbench', rateRatio('journal', 'pgbench'), 5, 0.4),
  atLeast('journal only c=256 / pgbench', rateRatio('journal-256', 'pgbench'), 7, null),
  atLeast('new / pgbench', rateRatio('new', 'pgbench'), 1.6, 0.15),
  atLeast('new c=256 / pgbench', rateRatio('new-256', 'pgbench'), 2, 0.2),
  atLeast('new / default stack', rateRatio('new', 'new@default-stack'), 5, 2.5),
  atLeast('new / lock in Redis', rateRatio('new', 'new@lock'), 1.4, 0.25),
  atLeast('new / Powertools', rateRatio('new', 'new@powertools'), 1.6, null),
  atLeast('new / node-idempotency', rateRatio('new', 'new@node-idempotency'), 1.6, null),
  atLeast('new / express-idempotency', rateRatio('new', 'new@express-idempotency'), 2, null),
  atLeast('new / recovery points', rateRatio('new', 'new@recovery-points'), 13, 1.5),
  atLeast('replay / lock in Redis', rateRatio('replay', 'replay@lock'), 0.9, 0.1),
  atMost('p99 new / p99 no-op', tailRatio('new', REFERENCE), 2.5),
  atMost('p50 over a PSP of 50 ms, c=1, ms', overPsp('p50Ms'), 3),
  atMost('p99 over a PSP of 50 ms, c=1, ms', overPsp('p99Ms'), 8),
];

/** With `--against`: this commit as a multiple of the other. */
export const AGAINST_QUANTITIES: readonly Quantity[] = [
  atLeast('new / new of the other', rateRatio('new', 'new@against'), 1, null),
  atLeast('new c=256 / that of the other', rateRatio('new-256', 'new-256@against'), 1, null),
  atLeast('replay / replay of the other', rateRatio('replay', 'replay@against'), 1, null),
];

export interface Judged extends Spread {
  readonly name: string;
  readonly aim: Quantity['aim'];
  readonly target: number;
  readonly floor: number | null;
  readonly isReached: boolean;
  readonly isBelowFloor: boolean;
}

/** The quantities of which the rounds have anything. */
export function judge(
  rounds: readonly RoundOfAll[],
  quantities: readonly Quantity[],
): readonly Judged[] {
  return quantities.flatMap(({ name, of, aim, target, floor }) => {
    const values = valuesOf(rounds, of);
    if (values.length === 0) return [];
    const seen = spread(values);
    const reaches = (limit: number) =>
      aim === 'at least' ? seen.median >= limit : seen.median <= limit;
    const isReached = reaches(target);
    const isBelowFloor = floor !== null && !reaches(floor);
    return [{ name, aim, target, floor, ...seen, isReached, isBelowFloor }];
  });
}

export function belowFloor(judged: readonly Judged[]): readonly string[] {
  return judged
    .filter(({ isBelowFloor }) => isBelowFloor)
    .map(({ name, median, floor }) => `${name} is ${median.toFixed(2)}, its floor ${floor}`);
}
