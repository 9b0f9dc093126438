import { decisionIn } from './decided.ts';
import type { Exchange } from './exchanges.ts';
import type { Evidence } from './records.ts';

/** How much there was of what. */
export function countsOf(
  { executions, entries, requests, events, outbox, observations, reads }: Evidence,
  exchanges: readonly Exchange[],
  intents: number,
): Record<string, number> {
  const heard = exchanges.map(({ told }) => told?.heard);
  const posts = requests.filter(({ method }) => method === 'POST').length;
  return {
    intents,
    requests: exchanges.length,
    'answers that decided': heard.filter(
      (one) => one !== undefined && decisionIn(one) !== undefined,
    ).length,
    'answers in doubt': heard.filter(
      (one) => one?.kind === 'answered' && one.outcome === 'IN_DOUBT',
    ).length,
    refusals: heard.filter((one) => one?.kind === 'refused').length,
    'answers in part': heard.filter((one) => one?.kind === 'answered' && one.partly !== undefined)
      .length,
    'no answer': heard.filter((one) => one === undefined || one.kind === 'broken').length,
    entries: entries.length,
    'entries whose outcome was in doubt': inDoubt(entries, outbox),
    'entries settled by inquiry': entries.filter(({ source }) => source === 'INQUIRY').length,
    'entries settled by a webhook': entries.filter(({ source }) => source === 'WEBHOOK').length,
    'entries in review': entries.filter(({ state }) => state === 'IN_REVIEW').length,
    'answers kept as evidence': observations.length,
    'events read': reads.length,
    'PSP requests': posts,
    executions: executions.length,
    faults: events.filter(({ kind }) => kind === 'struck').length,
  };
}

/** Of which the call alone did not tell what came of it. */
function inDoubt(entries: Evidence['entries'], outbox: Evidence['outbox']): number {
  const unknown = new Set(
    outbox.filter(({ type }) => type.endsWith('.unknown')).map(({ entryId }) => entryId),
  );
  const settledLater = (source: string | null) => source === 'INQUIRY' || source === 'WEBHOOK';
  return entries.filter(({ id, source }) => unknown.has(id) || settledLater(source)).length;
}
