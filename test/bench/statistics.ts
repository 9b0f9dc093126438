/** Of sorted values; 0 if there are none. */
export function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
}

/** Not a number if there are none. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
}

/** Median, least and most: no round is left out. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
  readonly count: number;
}

export function spread(values: readonly number[]): Spread {
  return {
    median: median(values),
    least: Math.min(...values),
    most: Math.max(...values),
    count: values.length,
  };
}
