import type { IntentRecord } from './record.ts';
import type { IntentStore } from './store.ts';
import { memoryStore } from './stores/memory.ts';

/** A store that failed and must not be done without. Nothing was sent. */
export class StoreFailure extends Error {}

/**
 * A store that throws is replaced by memory, once and for good, and `onFailure` is told. All that
 * passes is kept in memory as well, so that the keys of this page survive the loss of its store.
 */
export function sturdy(store: IntentStore, onFailure: (error: unknown) => void): IntentStore {
  const memory = memoryStore();
  let current = store;

  const keep = async (place: string, record: IntentRecord | undefined): Promise<void> => {
    await memory.swap(place, await memory.read(place), record);
  };

  async function attempt<T>(ask: () => Promise<T>): Promise<T> {
    if (current === memory) return ask();
    try {
      return await ask();
    } catch (cause) {
      onFailure(cause);
      if (store.onFailure === 'refuse') throw new StoreFailure('', { cause });
      current = memory;
      return ask();
    }
  }

  return {
    get durability() {
      return current.durability;
    },
    maxAgeMs: store.maxAgeMs,
    read: (place) =>
      attempt(async () => {
        const record = await current.read(place);
        await keep(place, record);
        return record;
      }),
    swap: (place, expected, next) =>
      attempt(async () => {
        const swapped = await current.swap(place, expected, next);
        if (swapped) await keep(place, next);
        return swapped;
      }),
    exclusive: async <T>(place: string, work: () => Promise<T>) => {
      let turn: Promise<T> | undefined;
      const once = async (): Promise<void> => {
        turn ??= work();
        await turn.catch(() => {});
      };
      // A lock that fails after the work has begun takes nothing from the work.
      await attempt(() =>
        current.exclusive(place, once).catch((error) => {
          if (!turn) throw error;
        }),
      );
      return turn as Promise<T>;
    },
    watch: (place, changed) => {
      const stops = [store, memory].map((from) =>
        from.watch(place, (now) => {
          if (from === current) changed(now);
        }),
      );
      return () => {
        for (const stop of stops) stop();
      };
    },
    list: () => attempt(() => current.list()),
  };
}
