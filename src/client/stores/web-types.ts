/** As much of the browser as the stores use. Everything may be missing, and everything may throw. */
export interface Web {
  readonly indexedDB?: IdbFactory;
  readonly localStorage?: WebStorage;
  readonly sessionStorage?: WebStorage;
  readonly navigator?: { readonly locks?: WebLocks };
  readonly BroadcastChannel?: new (name: string) => Channel;
}

export interface WebStorage {
  readonly length: number;
  key(index: number): string | null;
  getItem(name: string): string | null;
  setItem(name: string, text: string): void;
  removeItem(name: string): void;
}

export interface WebLocks {
  request<T>(name: string, work: () => Promise<T>): Promise<T>;
}

export interface Channel {
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  postMessage(message: unknown): void;
  close(): void;
}

export interface IdbRequest<T> {
  readonly result: T;
  readonly error: unknown;
  onsuccess: (() => void) | null;
  onerror: (() => void) | null;
}

export interface IdbFactory {
  open(
    name: string,
    version: number,
  ): IdbRequest<IdbDatabase> & { onupgradeneeded: (() => void) | null };
}

export interface IdbDatabase {
  createObjectStore(name: string): unknown;
  transaction(
    name: string,
    mode: 'readonly' | 'readwrite',
    options?: { readonly durability: 'strict' },
  ): IdbTransaction;
}

export interface IdbTransaction {
  readonly error: unknown;
  oncomplete: (() => void) | null;
  onabort: (() => void) | null;
  onerror: (() => void) | null;
  objectStore(name: string): IdbObjectStore;
}

export interface IdbObjectStore {
  get(name: string): IdbRequest<unknown>;
  getAll(): IdbRequest<unknown[]>;
  getAllKeys(): IdbRequest<unknown[]>;
  put(text: string, name: string): unknown;
  delete(name: string): unknown;
}

export function theWeb(): Web {
  return globalThis as unknown as Web;
}
