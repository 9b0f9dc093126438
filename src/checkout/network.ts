import type { Fetch } from '../client/index.ts';

/** What is broken between this page and the server. */
export interface Faults {
  offline: boolean;
  /** Whether answers are lost after the server has given them. */
  drop: 'never' | 'once' | 'always';
}

export type WireEvent =
  | { readonly is: 'refused' }
  | { readonly is: 'sent'; readonly operation: string; readonly key: string }
  | { readonly is: 'answered'; readonly status: number; readonly tookMs: number }
  | { readonly is: 'dropped'; readonly status: number };

/** `fetch` over a connection that can be broken without the browser's own tools. */
export function overFaults(faults: Faults, tell: (event: WireEvent) => void): Fetch {
  return async (url, init) => {
    if (faults.offline) {
      tell({ is: 'refused' });
      throw new TypeError('This page is offline.');
    }
    const { operationName, variables } = JSON.parse(init.body);
    tell({ is: 'sent', operation: operationName, key: variables.idempotencyKey });
    const startedAt = performance.now();
    const { status, headers, ...response } = await whole(url, init);
    if (faults.offline || faults.drop !== 'never') {
      if (!faults.offline && faults.drop === 'once') faults.drop = 'never';
      tell({ is: 'dropped', status });
      throw new TypeError('The answer was lost on its way.');
    }
    tell({ is: 'answered', status, tookMs: Math.round(performance.now() - startedAt) });
    return { status, headers, ...response };
  };
}

/** Waits for the last byte: an answer can only be lost once it has been given. */
async function whole(url: string, init: Parameters<Fetch>[1]): ReturnType<Fetch> {
  const response = await fetch(url, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text: async () => text };
}
