import type { IntentRecord } from '../record.ts';
import type { Durability, IntentStore } from '../store.ts';
import { indexedDbTexts } from './indexed-db.ts';
import { exclusiveByLease, type Lease } from './lease.ts';
import { memoryStore } from './memory.ts';
import type { Texts } from './texts.ts';
import { webStorageTexts } from './web-storage.ts';
import { theWeb, type Web } from './web-types.ts';

export type BrowserStoreKind = 'indexedDB' | 'localStorage' | 'sessionStorage' | 'memory';

export interface BrowserStoreOptions {
  /** One name for each shop on an origin. */
  readonly name?: string;
  /** See `IntentStore`. */
  readonly maxAgeMs?: number;
}

export interface BrowserStore extends IntentStore {
  /** What the intents are kept in; undefined until the first use or `ready`. */
  readonly kind: BrowserStoreKind | undefined;
  /** Chooses, if that has not been done: to warn before the buyer pays. */
  ready(): Promise<BrowserStoreKind>;
}

interface Chosen {
  readonly kind: BrowserStoreKind;
  readonly store: Omit<IntentStore, 'durability' | 'watch'>;
}

const DURABILITY: Readonly<Record<BrowserStoreKind, Durability>> = {
  indexedDB: 'durable',
  localStorage: 'durable',
  sessionStorage: 'tab',
  memory: 'memory',
};

/** How long another tab's lease outlives its crash, in ms. Only where there are no Web Locks. */
const LEASE_MS = 5_000;

/**
 * Keeps intents in the best place that the browser allows: IndexedDB, `localStorage`,
 * `sessionStorage`, memory. Tabs take turns by Web Locks; pages without TLS have none, and use
 * leases in the storage itself.
 */
export function browserStore(options: BrowserStoreOptions = {}): BrowserStore {
  const name = `semel:${options.name ?? 'intents'}`;
  const web = theWeb();
  const watchers = new Set<(place: string) => void>();
  const told = tabs(web, name, (place) => {
    for (const tell of watchers) tell(place);
  });
  let chosen: Chosen | undefined;
  let choosing: Promise<Chosen> | undefined;
  const choice = (): Promise<Chosen> => {
    choosing ??= choose(web, name).then((found) => {
      chosen = found;
      return found;
    });
    return choosing;
  };
  const read = async (place: string): Promise<IntentRecord | undefined> =>
    (await choice()).store.read(place);
  return {
    maxAgeMs: options.maxAgeMs,
    get kind() {
      return chosen?.kind;
    },
    get durability() {
      return DURABILITY[chosen?.kind ?? 'memory'];
    },
    ready: async () => (await choice()).kind,
    read,
    swap: async (place, expected, next) => {
      const swapped = await (await choice()).store.swap(place, expected, next);
      if (swapped) told.tell(place);
      return swapped;
    },
    exclusive: async (place, work) => (await choice()).store.exclusive(place, work),
    watch: (place, changed) => {
      const tell = (at: string): void => {
        if (at === place) read(place).then(changed, () => {});
      };
      watchers.add(tell);
      told.listen();
      return () => {
        watchers.delete(tell);
        if (watchers.size === 0) told.stop();
      };
    },
    list: async () => (await choice()).store.list(),
  };
}

async function choose(web: Web, name: string): Promise<Chosen> {
  const ways: readonly (readonly [BrowserStoreKind, () => Texts | Promise<Texts>])[] = [
    ['indexedDB', () => indexedDbTexts(given(web.indexedDB), name)],
    ['localStorage', () => webStorageTexts(given(web.localStorage), `${name}:`)],
    ['sessionStorage', () => webStorageTexts(given(web.sessionStorage), `${name}:`)],
  ];
  for (const [kind, texts] of ways) {
    try {
      return { kind, store: storeOf(await texts(), web, name) };
    } catch {
      // Not here; the next one, then.
    }
  }
  return { kind: 'memory', store: memoryStore() };
}

function given<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('This browser has none.');
  return part;
}

const INTENT = 'intent:';

function storeOf(texts: Texts, web: Web, name: string): Chosen['store'] {
  const { locks } = web.navigator ?? {};
  return {
    read: async (place) => parse(await texts.get(INTENT + place)),
    swap: (place, expected, next) =>
      texts.swap(
        INTENT + place,
        expected && JSON.stringify(expected),
        next && JSON.stringify(next),
      ),
    exclusive: locks
      ? (place, work) => locks.request(`${name}:${place}`, work)
      : exclusiveByLease(leaseIn(texts), LEASE_MS),
    list: async () =>
      (await texts.entries()).flatMap(([at, text]) => {
        const record = at.startsWith(INTENT) ? parse(text) : undefined;
        return record ? [[at.slice(INTENT.length), record] as const] : [];
      }),
  };
}

function parse(text: string | undefined): IntentRecord | undefined {
  return text === undefined ? undefined : JSON.parse(text);
}

/** Tabs of one browser share a clock, so the end of a lease may be written as a time. */
function leaseIn(texts: Texts): Lease {
  const at = (place: string): string => `lease:${place}`;
  return {
    take: async (place, token, ms) => {
      const found = await texts.get(at(place));
      const [owner, end] = found?.split(' ') ?? [];
      if (owner !== undefined && owner !== token && Number(end) > Date.now()) return false;
      return texts.swap(at(place), found, `${token} ${Date.now() + ms}`);
    },
    give: async (place, token) => {
      const found = await texts.get(at(place));
      if (found?.startsWith(token)) await texts.swap(at(place), found, undefined);
    },
  };
}

/** Tells this tab and, where there are channels, the others that a place has changed. */
function tabs(web: Web, name: string, changed: (place: string) => void) {
  const { BroadcastChannel } = web;
  let listening: { close(): void } | undefined;
  return {
    tell: (place: string): void => {
      changed(place);
      if (BroadcastChannel === undefined) return;
      const channel = new BroadcastChannel(name);
      channel.postMessage(place);
      channel.close();
    },
    listen: (): void => {
      if (listening || BroadcastChannel === undefined) return;
      const channel = new BroadcastChannel(name);
      channel.onmessage = ({ data }) => changed(String(data));
      listening = channel;
    },
    stop: (): void => {
      listening?.close();
      listening = undefined;
    },
  };
}
