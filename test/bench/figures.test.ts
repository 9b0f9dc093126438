import { expect, test } from 'vitest';
import { byRound, type Measured, rateRatio, valuesOf } from './measured.ts';
import { belowFloor, judge, type Quantity } from './quantities.ts';
import { median, quantile, spread } from './statistics.ts';

function measured(
  mode: string,
  round: number,
  perSecond: number,
  p99Ms: number | null = 1,
): Measured {
  return {
    mode,
    round,
    perSecond,
    p99Ms,
    set: 0,
    requests: 10,
    right: 10,
    refused: 0,
    wrong: 0,
    firstWrong: null,
    keys: 0,
    ms: 1_000,
    p50Ms: 1,
    cpuUs: {},
    rssMb: null,
    foreignCores: 0,
  };
}

const half: Quantity = {
  name: 'new / no-op',
  of: rateRatio('new', 'no-op'),
  aim: 'at least',
  target: 0.5,
  floor: 0.2,
};

test('the median is the middle value, or lies half-way between the two in the middle', () => {
  expect(median([3, 1, 2])).toBe(2);
  expect(median([4, 1, 2, 3])).toBe(2.5);
  expect(median([])).toBeNaN();
});

test('a spread leaves no value out', () => {
  expect(spread([5, 1, 9])).toEqual({ median: 5, least: 1, most: 9, count: 3 });
});

test('a quantile is one of the values', () => {
  const values = Array.from({ length: 101 }, (_, value) => value);
  expect(quantile(values, 0.5)).toBe(50);
  expect(quantile(values, 0.99)).toBe(99);
  expect(quantile([], 0.99)).toBe(0);
});

test('a ratio compares modes of one round: a slow moment of the machine cancels out', () => {
  const rounds = byRound([
    measured('new', 0, 100),
    measured('no-op', 0, 1_000),
    measured('no-op', 1, 100),
    measured('new', 1, 10),
  ]);
  expect(valuesOf(rounds, rateRatio('new', 'no-op'))).toEqual([0.1, 0.1]);
});

test('rounds of two sets with the same number are two rounds', () => {
  const rounds = byRound([measured('no-op', 0, 1), { ...measured('no-op', 0, 2), set: 1 }]);
  expect(rounds).toHaveLength(2);
});

test('a mode that was not played has no ratio, rather than one of nothing', () => {
  const rounds = byRound([measured('no-op', 0, 1_000)]);
  expect(valuesOf(rounds, rateRatio('new', 'no-op'))).toEqual([]);
  expect(judge(rounds, [half])).toEqual([]);
});

test('a quantity is judged by the median of its rounds', () => {
  const rounds = byRound(
    [0.1, 0.6, 0.7].flatMap((ratio, round) => [
      measured('new', round, ratio * 100),
      measured('no-op', round, 100),
    ]),
  );
  const [judged] = judge(rounds, [half]);
  expect(judged).toMatchObject({ median: 0.6, least: 0.1, isReached: true, isBelowFloor: false });
});

test('a quantity below its floor fails the run, one without a floor does not', () => {
  const rounds = byRound([measured('new', 0, 10), measured('no-op', 0, 100)]);
  const judged = judge(rounds, [half, { ...half, name: 'free', floor: null }]);
  expect(belowFloor(judged)).toEqual(['new / no-op is 0.10, its floor 0.2']);
});

test('what is to be small is judged the other way round', () => {
  const small: Quantity = {
    name: 'p99',
    of: (round) => round.get('new')?.p99Ms ?? undefined,
    aim: 'at most',
    target: 8,
    floor: null,
  };
  const of = (p99Ms: number) => judge(byRound([measured('new', 0, 1, p99Ms)]), [small])[0];
  expect(of(7)?.isReached).toBe(true);
  expect(of(9)?.isReached).toBe(false);
});
