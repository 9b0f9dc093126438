import type { Seen } from './load.ts';

/** One mode in one round. CPU times are µs for each request, by process. */
export interface Measured
  extends Pick<Seen, 'requests' | 'p50Ms' | 'p99Ms' | 'wrong' | 'firstWrong'> {
  readonly mode: string;
  readonly round: number;
  readonly perSecond: number;
  readonly cpuUs: Readonly<Record<string, number>>;
  /** The share of one core that others used meanwhile. */
  readonly foreignCores: number;
}

export interface Line {
  readonly mode: string;
  readonly perSecond: number;
  /** Median, least and most of the ratios to the reference of the same round. */
  readonly ratio: readonly [number, number, number];
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly cpuUs: Readonly<Record<string, number>>;
  readonly foreignCores: number;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Every round is kept; each is compared with the reference of its own round. */
export function summarise(measured: readonly Measured[], reference: string): readonly Line[] {
  const base = new Map(
    measured.filter(({ mode }) => mode === reference).map((one) => [one.round, one.perSecond]),
  );
  const modes = [...new Set(measured.map(({ mode }) => mode))];
  return modes.map((mode) => {
    const own = measured.filter((one) => one.mode === mode);
    const ratios = own.map((one) => one.perSecond / (base.get(one.round) ?? Number.NaN));
    const of = (value: (one: Measured) => number) => median(own.map(value));
    const parts = Object.keys(own[0]?.cpuUs ?? {});
    return {
      mode,
      perSecond: of((one) => one.perSecond),
      ratio: [median(ratios), Math.min(...ratios), Math.max(...ratios)],
      p50Ms: of((one) => one.p50Ms),
      p99Ms: of((one) => one.p99Ms),
      cpuUs: Object.fromEntries(parts.map((part) => [part, of((one) => one.cpuUs[part] ?? 0)])),
      foreignCores: of((one) => one.foreignCores),
    };
  });
}

export function table(lines: readonly Line[], reference: string): string {
  const rows = lines.map((line) => [
    line.mode,
    Math.round(line.perSecond).toString(),
    `${line.ratio[0].toFixed(2)} (${line.ratio[1].toFixed(2)}–${line.ratio[2].toFixed(2)})`,
    `${line.p50Ms.toFixed(1)} / ${line.p99Ms.toFixed(1)}`,
    Object.entries(line.cpuUs)
      .map(([part, us]) => `${part} ${Math.round(us)}`)
      .join(', '),
    line.foreignCores.toFixed(2),
  ]);
  const head = [
    'mode',
    'a second',
    `x ${reference}`,
    'p50 / p99 ms',
    'CPU µs a request',
    'foreign',
  ];
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => (row[column] ?? '').length)),
  );
  const print = (row: readonly string[]) =>
    row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ');
  return [head, ...rows].map(print).join('\n');
}
