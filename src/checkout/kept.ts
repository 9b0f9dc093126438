/** What the shop itself remembers: texts that all tabs share. Keys of payments are not kept here. */
export interface Kept {
  get(name: string): string | undefined;
  set(name: string, text: string): void;
  remove(name: string): void;
  names(): readonly string[];
  /** Calls back after another tab has changed something. */
  watch(changed: () => void): void;
}

const PREFIX = 'corner-shop:';

/** In `localStorage`, or in memory where the browser denies it. */
export function openKept(): Kept {
  const storage = usable();
  return {
    get: (name) => storage.getItem(PREFIX + name) ?? undefined,
    set: (name, text) => storage.setItem(PREFIX + name, text),
    remove: (name) => storage.removeItem(PREFIX + name),
    names: () =>
      Array.from({ length: storage.length }, (_, index) => storage.key(index) ?? '')
        .filter((name) => name.startsWith(PREFIX))
        .map((name) => name.slice(PREFIX.length)),
    watch: (changed) => addEventListener('storage', changed),
  };
}

type Texts = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

function usable(): Texts {
  try {
    localStorage.setItem(`${PREFIX}probe`, '');
    localStorage.removeItem(`${PREFIX}probe`);
    return localStorage;
  } catch {
    return inMemory();
  }
}

function inMemory(): Texts {
  const texts = new Map<string, string>();
  return {
    get length() {
      return texts.size;
    },
    key: (index) => [...texts.keys()][index] ?? null,
    getItem: (name) => texts.get(name) ?? null,
    setItem: (name, text) => void texts.set(name, text),
    removeItem: (name) => void texts.delete(name),
  };
}
