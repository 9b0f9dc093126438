import type { Fault, FaultName } from './faults.ts';
import { type Measured, type RoundOfAll, rateRatio, valuesOf } from './measured.ts';
import type { Mode } from './modes.ts';
import type { Judged } from './quantities.ts';
import { median, spread } from './statistics.ts';

/** Rows as a Markdown table whose columns are aligned. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]) =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** Every mode: rates, their ratio to the reference, times and CPU. Medians over all rounds. */
export function modeTable(
  modes: readonly Mode[],
  rounds: readonly RoundOfAll[],
  reference: string,
): string {
  const rows = modes.map((mode) => {
    const seen = rounds.flatMap((round) => round.get(mode.name) ?? []);
    const of = (value: (one: Measured) => number | null) =>
      median(seen.map(value).filter((one) => one !== null));
    const ratio = spread(valuesOf(rounds, rateRatio(mode.name, reference)));
    const wrong = seen.reduce((sum, one) => sum + one.wrong, 0);
    return [
      mode.title,
      whole(of(({ perSecond }) => perSecond)),
      range(ratio, 2),
      `${tenths(of(({ p50Ms }) => p50Ms))} / ${tenths(of(({ p99Ms }) => p99Ms))}`,
      cpuOf(seen),
      whole(of(({ rssMb }) => rssMb)),
      of(({ foreignCores }) => foreignCores).toFixed(2),
      `${wrong}`,
    ];
  });
  const head = ['mode', 'a second', `x ${reference}`, 'p50 / p99 ms', 'CPU µs a request'];
  return markdown([...head, 'RSS MB', 'foreign', 'wrong'], rows);
}

function cpuOf(seen: readonly Measured[]): string {
  const parts = new Set(seen.flatMap(({ cpuUs }) => Object.keys(cpuUs)));
  return [...parts]
    .map((part) => `${part} ${whole(median(seen.map(({ cpuUs }) => cpuUs[part] ?? 0)))}`)
    .join(', ');
}

export function targetTable(judged: readonly Judged[]): string {
  const rows = judged.map((one) => [
    one.name,
    range(one, 2),
    `${one.aim} ${one.target}`,
    one.isReached ? 'yes' : 'no',
    one.floor === null ? '–' : `${one.floor}`,
  ]);
  return markdown(['quantity', 'median (least–most)', 'target', 'reached', 'floor'], rows);
}

const SHOWN: readonly FaultName[] = ['duplicates', 'redis lost', 'killed in the PSP call'];

/** Charges a key under each fault: with an id of its own for each request, and with a stable one. */
export function faultTable(faults: readonly Fault[]): string {
  const systems = [...new Set(faults.map(({ system }) => system))];
  const rows = systems.map((system) => [
    system,
    ...SHOWN.flatMap((fault) =>
      [false, true].map((isStable) => said(find(faults, system, fault, isStable))),
    ),
  ]);
  const head = SHOWN.flatMap((fault) => [fault, `${fault}, stable PSP key`]);
  return markdown(['charges a key', ...head], rows);
}

/** Ours has one way only, which stands in both columns. */
function find(faults: readonly Fault[], system: string, fault: FaultName, isStable: boolean) {
  const ofSystem = faults.filter((one) => one.system === system && one.fault === fault);
  return ofSystem.find((one) => one.isStable === isStable) ?? ofSystem[0];
}

function said(fault: Fault | undefined): string {
  if (fault === undefined) return '–';
  const { keys, charges, most, twice, unanswered } = fault;
  const left = unanswered > 0 ? `, ${unanswered} unanswered` : '';
  if (charges === keys && most === 1) return `1${left}`;
  return `${(charges / keys).toFixed(2)}: ${twice} of ${keys} more than once, up to ${most}${left}`;
}

const whole = (value: number) => (Number.isNaN(value) ? '–' : `${Math.round(value)}`);
const tenths = (value: number) => (Number.isNaN(value) ? '–' : value.toFixed(1));

function range(
  { median, least, most }: { median: number; least: number; most: number },
  digits: number,
): string {
  return `${median.toFixed(digits)} (${least.toFixed(digits)}–${most.toFixed(digits)})`;
}
