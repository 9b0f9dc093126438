/**
 * How long to wait after the first, second … attempt that failed, in ms: about three days in all, as
 * Standard Webhooks recommends. After the last one a delivery is given up.
 */
export const USUAL_RETRY_DELAYS_MS: readonly number[] = [
  5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400,
].map((seconds) => seconds * 1_000);

/** Times are spread by this much, so that what failed together does not come back together. */
const JITTER = 0.2;
const MOST_RETRY_AFTER_MS = 86_400_000;
const PAUSE_MS = { first: 1_000, most: 300_000, mostAsked: 3_600_000 } as const;

/** What to do with a delivery after an attempt that failed. */
export type Retry =
  | { readonly kind: 'again'; readonly inMs: number }
  | { readonly kind: 'give-up' };

/**
 * @param tries attempts that have failed by now, this one included
 * @param retryAfterMs what the endpoint asked for: it may make the wait longer, to a day at most
 * @param random from 0 to 1
 */
export function retryAfter(
  tries: number,
  delaysMs: readonly number[],
  random: number,
  retryAfterMs = 0,
): Retry {
  const delayMs = delaysMs[tries - 1];
  if (delayMs === undefined) return { kind: 'give-up' };
  const asked = Math.min(retryAfterMs, MOST_RETRY_AFTER_MS);
  return { kind: 'again', inMs: Math.round(Math.max(spread(delayMs, random), asked)) };
}

/**
 * How long nothing is sent to an endpoint that took nothing the last so many times, in ms. It is its
 * own delay, apart from those of the deliveries: a dead endpoint costs one attempt in five minutes,
 * and one that lives is not held up by a single event that it cannot take.
 */
export function pauseMs(failures: number, random: number, retryAfterMs = 0): number {
  const ownMs = Math.min(PAUSE_MS.first * 2 ** Math.min(failures - 1, 20), PAUSE_MS.most);
  return Math.round(Math.max(spread(ownMs, random), Math.min(retryAfterMs, PAUSE_MS.mostAsked)));
}

const spread = (ms: number, random: number) => ms * (1 - JITTER + 2 * JITTER * random);
