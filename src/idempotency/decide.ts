import type { Ask, Verdict } from './store.ts';

/** What a store keeps under an intent. Times are in ms on the store's own clock. */
export type Entry =
  | {
      readonly kind: 'held';
      readonly fingerprint: string;
      readonly token: string;
      readonly endsAt: number;
    }
  | {
      readonly kind: 'answered';
      readonly fingerprint: string;
      readonly answer: string;
      readonly endsAt: number;
    };

/** The whole rule of the first door. Pure: the entry found, who asks, the store's time in ms. */
export function decide(
  entry: Entry | undefined,
  ask: Pick<Ask, 'fingerprint' | 'token'>,
  now: number,
): Verdict {
  if (entry === undefined || entry.endsAt <= now) return { kind: 'run' };
  if (entry.fingerprint !== ask.fingerprint) {
    return { kind: 'mismatch', fingerprint: entry.fingerprint, held: entry.kind === 'held' };
  }
  if (entry.kind === 'answered') return { kind: 'replay', answer: entry.answer };
  if (entry.token === ask.token) return { kind: 'run' };
  return { kind: 'busy', retryAfterMs: Math.ceil(entry.endsAt - now) };
}
