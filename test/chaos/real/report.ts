import type { RunResult } from './run.ts';
import { timeline } from './timeline.ts';

const MOST_SHOWN = 20;

/** What a run came to, in lines. */
export function report({
  evidence,
  verdict,
  hits,
  unhit,
  missing,
  quietMs,
}: RunResult): readonly string[] {
  const { violations, counts, concluded } = verdict;
  const first = violations.find(({ key }) => key !== undefined)?.key;
  return [
    'cells:',
    ...[...hits].map(([cell, count]) => `  ${String(count).padStart(4)} ${cell}`),
    ...(unhit.length === 0 ? [] : [`NOT HIT OFTEN ENOUGH: ${unhit.join(', ')}`]),
    ...(missing === 0 ? [] : [`TOO FEW INTENTS: ${missing} were not begun`]),
    'counts:',
    ...Object.entries(counts).map(([name, count]) => `  ${String(count).padStart(7)} ${name}`),
    `final answers: ${(concluded * 100).toFixed(2)} % of the intents; nothing open ${Math.round(quietMs / 1_000)} s after the last fault`,
    `violations: ${violations.length}`,
    ...violations
      .slice(0, MOST_SHOWN)
      .map(({ promise, what, key }) => `  ${promise} ${key ?? ''}: ${what}`),
    ...(first === undefined
      ? []
      : ['the first of them:', ...timeline(evidence, first).map((line) => `  ${line}`)]),
  ];
}
