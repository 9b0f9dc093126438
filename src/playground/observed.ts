import { useSyncExternalStore } from 'react';

/** A value outside of the component tree, which components can watch. */
export interface Observed<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

export function observed<T>(initial: T): Observed<T> {
  let current = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => current,
    set: (value) => {
      current = value;
      for (const listener of listeners) listener();
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export function useObserved<T>(value: Observed<T>): T {
  return useSyncExternalStore(value.subscribe, value.get);
}
