import type { IntentRecord } from '../record.ts';
import type { IntentStore } from '../store.ts';

/** Keeps intents for the life of the page or process; the model that other stores follow. */
export function memoryStore(options: { readonly maxAgeMs?: number } = {}): IntentStore {
  const records = new Map<string, IntentRecord>();
  const watchers = new Set<(place: string) => void>();
  return {
    ...options,
    durability: 'memory',
    read: async (place) => records.get(place),
    swap: async (place, expected, next) => {
      if (JSON.stringify(records.get(place)) !== JSON.stringify(expected)) return false;
      if (next) records.set(place, next);
      else records.delete(place);
      for (const tell of watchers) tell(place);
      return true;
    },
    exclusive: queues(),
    watch: (place, changed) => {
      const tell = (at: string): void => {
        if (at === place) changed(records.get(place));
      };
      watchers.add(tell);
      return () => watchers.delete(tell);
    },
    list: async () => [...records],
  };
}

/** Within one page or process: work at one place runs in the order it came. */
export function queues(): IntentStore['exclusive'] {
  const tails = new Map<string, Promise<unknown>>();
  return (place, work) => {
    const turn = Promise.resolve(tails.get(place)).then(work);
    const tail = turn
      .catch(() => {})
      .then(() => {
        if (tails.get(place) === tail) tails.delete(place);
      });
    tails.set(place, tail);
    return turn;
  };
}
