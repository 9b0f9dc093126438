import type { Violation } from './checker.ts';
import { pair } from './exchanges.ts';
import { CARDS } from './orders.ts';
import type { Evidence } from './records.ts';

/** Nothing that was planted is found where it must not be, and no card number is taken in. Pure. */
export function checkSecrets({ spills, complaints, events }: Evidence): readonly Violation[] {
  const taken = pair(events).filter(({ ask, told }) => {
    const input = JSON.stringify(ask.input);
    return told?.heard.kind === 'answered' && CARDS.some((card) => input.includes(card));
  });
  return [
    ...spills.map(({ what, where }) => ({ promise: 'P19', what: `${what} in ${where}` })),
    ...taken.map(({ ask: { key } }) => ({ promise: 'P19', what: 'a card number was taken', key })),
    ...complaints.map((line) => ({ promise: 'log', what: line.slice(0, 300) })),
  ];
}
