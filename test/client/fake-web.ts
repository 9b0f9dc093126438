import { queues } from '../../src/client/stores/memory.ts';
import type { Channel, Web, WebLocks, WebStorage } from '../../src/client/stores/web-types.ts';

/** A storage as browsers have it, in memory. */
export function fakeStorage(): WebStorage {
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

/** A storage that private windows have: it is there, and throws. */
export const deniedStorage: WebStorage = {
  length: 0,
  key: () => null,
  getItem: () => null,
  setItem: () => {
    throw new Error('QuotaExceededError');
  },
  removeItem: () => {},
};

export function fakeLocks(): WebLocks {
  const exclusive = queues();
  return { request: exclusive };
}

/** Channels of one browser: a message reaches all of the same name but its own. */
export function fakeChannels(): NonNullable<Web['BroadcastChannel']> {
  const open = new Set<FakeChannel>();
  class FakeChannel implements Channel {
    onmessage: Channel['onmessage'] = null;
    readonly #name: string;
    constructor(name: string) {
      this.#name = name;
      open.add(this);
    }
    postMessage(data: unknown): void {
      for (const other of open) {
        if (other !== this && other.#name === this.#name) other.onmessage?.({ data });
      }
    }
    close(): void {
      open.delete(this);
    }
  }
  return FakeChannel;
}
