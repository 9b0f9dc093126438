import type { Violation } from './checker.ts';
import { decisionIn } from './decided.ts';
import { type Exchange, isAnswered } from './exchanges.ts';
import type { Evidence, Struck } from './records.ts';
import { isRedisFault } from './redis-faults.ts';

const PROMISED: ReadonlySet<string> = new Set(
  Array.from({ length: 10 }, (_, index) => `P${index + 1}`),
);
/** With fewer requests than this nothing can be said of a share. */
const LEAST_ASKED = 40;
const LEAST_DECIDED = 0.05;

/**
 * P1 to P10 hold and payments go on while Redis is absent, slow, flushed or behind: what broke of an
 * intent that was asked for then breaks P11 as well. Pure.
 */
export function checkWithoutRedis(
  { events }: Evidence,
  exchanges: readonly Exchange[],
  broken: readonly Violation[],
): readonly Violation[] {
  const struck = events.filter((event) => event.kind === 'struck');
  const times = struck.filter(({ cell }) => isRedisFault(cell));
  const others = struck.filter(({ cell }) => !isRedisFault(cell));
  const isIn = (at: number, of: readonly Struck[]) =>
    of.some(({ at: from, until }) => from <= at && at <= until);
  const meanwhile = exchanges.filter(({ ask }) => isIn(ask.at, times));
  const keys = new Set(meanwhile.map(({ ask }) => ask.key));
  const found = broken
    .filter(({ promise, key }) => PROMISED.has(promise) && key !== undefined && keys.has(key))
    .map(({ what, key }): Violation => {
      return { promise: 'P11', what: `${what}, while Redis was at fault`, ...(key && { key }) };
    });
  const only = meanwhile.filter((one) => isAnswered(one) && !isIn(one.ask.at, others));
  const decided = only.filter(({ told }) => told && decisionIn(told.heard) !== undefined).length;
  if (only.length >= LEAST_ASKED && decided < LEAST_DECIDED * only.length) {
    const what = `${decided} of ${only.length} answers decided something while only Redis was at fault`;
    found.push({ promise: 'P11', what });
  }
  return found;
}
