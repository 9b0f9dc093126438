import type { Texts } from './texts.ts';
import type { WebStorage } from './web-types.ts';

/**
 * Texts in `localStorage` or `sessionStorage`. A swap reads and writes without a pause in between;
 * browsers keep that apart from other tabs for all practical purposes, but do not promise it.
 *
 * @throws if the storage cannot be written: private windows, denied or full storage
 */
export function webStorageTexts(storage: WebStorage, prefix: string): Texts {
  const probe = `${prefix}probe`;
  storage.setItem(probe, '');
  storage.removeItem(probe);
  return {
    get: async (name) => storage.getItem(prefix + name) ?? undefined,
    swap: async (name, expected, next) => {
      if ((storage.getItem(prefix + name) ?? undefined) !== expected) return false;
      if (next === undefined) storage.removeItem(prefix + name);
      else storage.setItem(prefix + name, next);
      return true;
    },
    entries: async () => {
      const names = Array.from({ length: storage.length }, (_, index) => storage.key(index));
      return names.flatMap((name) => {
        const text = name?.startsWith(prefix) ? storage.getItem(name) : null;
        return name === null || text === null ? [] : [[name.slice(prefix.length), text] as const];
      });
    },
  };
}
