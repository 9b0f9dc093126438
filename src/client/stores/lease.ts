import { randomKey } from '../random-key.ts';
import { sleep } from '../retry.ts';
import type { IntentStore } from '../store.ts';
import { queues } from './memory.ts';

/** A lock with an end: where locks do not die with their owner. */
export interface Lease {
  /** Takes it, or holds what is ours for another `ms`. @returns whether it is ours now */
  take(place: string, token: string, ms: number): Promise<boolean>;
  give(place: string, token: string): Promise<void>;
}

/** How long to wait before asking for a lease again, in ms. */
const ASK_AGAIN_MS = { first: 10, most: 250 } as const;

/**
 * Exclusive work under a lease that is renewed while the work goes on and ends by itself after a
 * crash. A lease that ends too early costs a second request, not a second payment: keys are minted
 * by `swap`.
 */
export function exclusiveByLease(lease: Lease, leaseMs: number): IntentStore['exclusive'] {
  const inTurn = queues();
  return (place, work) =>
    inTurn(place, async () => {
      const token = randomKey();
      let pauseMs: number = ASK_AGAIN_MS.first;
      while (!(await lease.take(place, token, leaseMs))) {
        await sleep(pauseMs);
        pauseMs = Math.min(pauseMs * 2, ASK_AGAIN_MS.most);
      }
      const renewing = setInterval(() => {
        lease.take(place, token, leaseMs).catch(() => {});
      }, leaseMs / 3);
      try {
        return await work();
      } finally {
        clearInterval(renewing);
        await lease.give(place, token).catch(() => {});
      }
    });
}
