import type { Event, Evidence } from './records.ts';

interface Line {
  /** In ms since the epoch; infinite: at the end. */
  readonly at: number;
  readonly text: string;
}

const AROUND_MS = 500;

/** Everything that was asked, told, written and executed under a key, and the faults of that time. */
export function timeline(evidence: Evidence, key: string): readonly string[] {
  const own = [...ofEntries(evidence, key), ...ofClients(evidence.events, key)];
  const times = own.map(({ at }) => at).filter(Number.isFinite);
  const [from, to] = [Math.min(...times) - AROUND_MS, Math.max(...times) + AROUND_MS];
  const faults = evidence.events.flatMap((event): Line[] =>
    (event.kind === 'struck' ? event.until : event.at) >= from && event.at <= to
      ? [...ofWorld(event)]
      : [],
  );
  return [...own, ...faults].sort((a, b) => (a.at < b.at ? -1 : 1)).map(shown);
}

function ofWorld(event: Event): readonly Line[] {
  if (event.kind === 'note') return [{ at: event.at, text: `  ${event.what}` }];
  if (event.kind !== 'struck') return [];
  const { at, until, cell, server } = event;
  return [{ at, text: `  ${cell} at ${server}, for ${until - at} ms` }];
}

function shown({ at, text }: Line): string {
  return `${Number.isFinite(at) ? new Date(at).toISOString().slice(11, 23) : 'at the end'} ${text}`;
}

function ofEntries({ entries, executions }: Evidence, key: string): readonly Line[] {
  const mine = entries.filter((entry) => entry.key === key);
  const ids = new Set(mine.map(({ id }) => id));
  return [
    ...mine.flatMap(({ id, operation, state, attempt, createdAt, settledAt }): Line[] => [
      { at: createdAt, text: `entry ${id} ${operation} is written` },
      { at: settledAt ?? Infinity, text: `entry ${id} is ${state}, attempt ${attempt}` },
    ]),
    ...executions
      .filter(({ reference }) => ids.has(reference))
      .map(({ at, kind, amountMinor, currency }): Line => {
        return { at: Date.parse(at), text: `PSP: ${kind} ${amountMinor} ${currency}` };
      }),
  ];
}

function ofClients(events: readonly Event[], key: string): readonly Line[] {
  const asked = new Set<number>();
  return events.flatMap((event): Line[] => {
    if (event.kind === 'ask' && event.key === key) {
      asked.add(event.id);
      const { at, id, server, field, input } = event;
      return [{ at, text: `#${id} → ${server} ${field} ${JSON.stringify(input)}` }];
    }
    if (event.kind !== 'told' || !asked.has(event.id)) return [];
    return [{ at: event.at, text: `#${event.id} ← ${JSON.stringify(event.heard)}` }];
  });
}
