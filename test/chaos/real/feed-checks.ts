import type { Violation } from './checker.ts';
import { groupBy } from './group-by.ts';
import type { Evidence } from './records.ts';

/** A reader who came back after every cut has every event once, in the order of its line. Pure. */
export function checkFeed({ outbox, reads }: Evidence): readonly Violation[] {
  const found: Violation[] = [];
  const report = (what: string) => found.push({ promise: 'P17', what });
  const read = groupBy(reads, ({ merchantId }) => merchantId);
  for (const [merchantId, events] of groupBy(outbox, (event) => event.merchantId)) {
    for (const { id, position } of events) {
      if (position === null) report(`the event ${id} has no place in its line`);
    }
    const line = events.toSorted((a, b) => (a.position ?? 0) - (b.position ?? 0));
    const mine = read.get(merchantId) ?? [];
    const differs = line.findIndex(({ id }, index) => mine[index]?.id !== id);
    if (differs >= 0)
      report(`at ${differs + 1} of ${line.length} a reader of ${merchantId} has another event`);
    else if (mine.length > line.length)
      report(`a reader of ${merchantId} has ${mine.length} events, and there are ${line.length}`);
  }
  return found;
}
