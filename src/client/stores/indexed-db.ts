import type { Texts } from './texts.ts';
import type { IdbDatabase, IdbFactory, IdbObjectStore, IdbRequest } from './web-types.ts';

const TEXTS = 'texts';
/** Some browsers never answer an `open`; a page cannot wait for that, in ms. */
const OPEN_MS = 5_000;

/**
 * Texts in IndexedDB. A swap is one transaction, which no other tab can come between, and it is on
 * disk before it counts.
 *
 * @throws if the database cannot be opened: private windows, denied storage
 */
export async function indexedDbTexts(factory: IdbFactory, name: string): Promise<Texts> {
  const database = await open(factory, name);
  return {
    get: async (at) => {
      const { objects, done } = begin(database, 'readonly');
      const got = objects.get(at);
      await done;
      return asText(got.result);
    },
    swap: async (at, expected, next) => {
      const { objects, done } = begin(database, 'readwrite');
      let swapped = false;
      const got = objects.get(at);
      got.onsuccess = () => {
        if (asText(got.result) !== expected) return;
        swapped = true;
        if (next === undefined) objects.delete(at);
        else objects.put(next, at);
      };
      await done;
      return swapped;
    },
    entries: async () => {
      const { objects, done } = begin(database, 'readonly');
      const names = objects.getAllKeys();
      const texts = objects.getAll();
      await done;
      return names.result.map((at, index) => [String(at), String(texts.result[index])]);
    },
  };
}

function asText(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value);
}

function begin(database: IdbDatabase, mode: 'readonly' | 'readwrite') {
  const transaction = database.transaction(TEXTS, mode, { durability: 'strict' });
  const objects: IdbObjectStore = transaction.objectStore(TEXTS);
  const done = new Promise<void>((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = transaction.onerror = () => reject(transaction.error);
  });
  return { objects, done };
}

function open(factory: IdbFactory, name: string): Promise<IdbDatabase> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('IndexedDB does not open.')), OPEN_MS);
    const opening = factory.open(name, 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore(TEXTS);
    const ended = (end: (request: IdbRequest<IdbDatabase>) => void) => () => {
      clearTimeout(timer);
      end(opening);
    };
    opening.onsuccess = ended(({ result }) => resolve(result));
    opening.onerror = ended(({ error }) => reject(error));
  });
}
