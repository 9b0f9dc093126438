import type { RunResult } from './run.ts';
import { recoveryTimes, type Times } from './speed.ts';
import { timeline } from './timeline.ts';

const MOST_SHOWN = 20;
/** At each end of a timeline. */
const MOST_LINES = 40;

function shortened(lines: readonly string[]): readonly string[] {
  if (lines.length <= 2 * MOST_LINES) return lines;
  const left = lines.length - 2 * MOST_LINES;
  return [...lines.slice(0, MOST_LINES), `… ${left} more …`, ...lines.slice(-MOST_LINES)];
}

const inWords = ({ count, half, most, longest }: Times): string =>
  `half of ${count} within ${half} ms, 99 % within ${most} ms, the longest ${longest} ms`;

/** What a run came to, in lines. */
export function report({
  evidence,
  verdict,
  hits,
  unhit,
  missing,
  quietMs,
  chaosMs,
  starts,
}: RunResult): readonly string[] {
  const { counts, concluded } = verdict;
  return [
    'cells:',
    ...[...hits].map(([cell, count]) => `  ${String(count).padStart(4)} ${cell}`),
    ...(unhit.length === 0 ? [] : [`NOT HIT OFTEN ENOUGH: ${unhit.join(', ')}`]),
    ...(missing === 0 ? [] : [`TOO FEW INTENTS: ${missing} were not begun`]),
    'counts:',
    ...Object.entries(counts).map(([name, count]) => `  ${String(count).padStart(7)} ${name}`),
    `final answers: ${(concluded * 100).toFixed(2)} % of the intents; ${Math.round(chaosMs / 1_000)} s of faults; nothing open ${Math.round(quietMs / 1_000)} s after them`,
    `from opened to settled by recovery: ${inWords(recoveryTimes(evidence))}`,
    `from started to ready: ${inWords(starts)}`,
    ...found(evidence, verdict),
  ];
}

/** What was broken, and the timeline of the first key of it. */
export function found(
  evidence: RunResult['evidence'],
  { violations }: RunResult['verdict'],
): readonly string[] {
  const first = violations.find(({ key }) => key !== undefined)?.key;
  return [
    `violations: ${violations.length}`,
    ...violations
      .slice(0, MOST_SHOWN)
      .map(({ promise, what, key }) => `  ${promise} ${key ?? ''}: ${what}`),
    ...(first === undefined
      ? []
      : ['the first of them:', ...shortened(timeline(evidence, first)).map((line) => `  ${line}`)]),
  ];
}
