import type { Ask, Event, Told } from './records.ts';

/** A request and what came of it. */
export interface Exchange {
  readonly ask: Ask;
  readonly told: Told | undefined;
}

export function pair(events: readonly Event[]): readonly Exchange[] {
  const answers = new Map(
    events.flatMap((event) => (event.kind === 'told' ? [[event.id, event] as const] : [])),
  );
  return events.flatMap((ask) => (ask.kind === 'ask' ? [{ ask, told: answers.get(ask.id) }] : []));
}

/** Whether a server said anything, be it a refusal. */
export const isAnswered = ({ told }: Exchange): boolean =>
  told !== undefined && told.heard.kind !== 'broken';
