import type { Seen } from './load.ts';

/** One mode in one round. CPU times are µs for each request, by process. */
export interface Measured extends Seen {
  readonly mode: string;
  readonly set: number;
  readonly round: number;
  /** Right answers a second. */
  readonly perSecond: number;
  readonly cpuUs: Readonly<Record<string, number>>;
  /** Of the first process that serves; null where none does. */
  readonly rssMb: number | null;
  /** How many cores others used meanwhile. */
  readonly foreignCores: number;
}

/** All modes of one round, by name. */
export type RoundOfAll = ReadonlyMap<string, Measured>;

/** Rounds in their order, each with all its modes. */
export function byRound(measured: readonly Measured[]): readonly RoundOfAll[] {
  const rounds = new Map<string, Map<string, Measured>>();
  for (const one of measured) {
    const name = `${one.set}/${one.round}`;
    const round = rounds.get(name) ?? new Map<string, Measured>();
    rounds.set(name, round.set(one.mode, one));
  }
  return [...rounds.values()];
}

/** The values of all rounds that have one; no round that has one is left out. */
export function valuesOf(
  rounds: readonly RoundOfAll[],
  value: (round: RoundOfAll) => number | undefined,
): readonly number[] {
  return rounds.map(value).filter((one) => one !== undefined);
}

/** A rate as a multiple of another mode's rate in the same round. */
export function rateRatio(mode: string, base: string) {
  return (round: RoundOfAll): number | undefined => {
    const [above, below] = [round.get(mode)?.perSecond, round.get(base)?.perSecond];
    return above === undefined || below === undefined ? undefined : above / below;
  };
}
