/** How long and how often one call asks. Times in ms. */
export interface RetryPolicy {
  /** How often a request is sent at most. */
  readonly attempts: number;
  /** The first wait is between 0 and this; it doubles with each attempt (full jitter). */
  readonly baseMs: number;
  readonly capMs: number;
  /** The call ends within this time, whatever happens. */
  readonly budgetMs: number;
  /** How long one attempt may take; longer than the server's own deadline for a payment. */
  readonly timeoutMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 5,
  baseMs: 300,
  capMs: 8_000,
  budgetMs: 60_000,
  timeoutMs: 20_000,
};

/**
 * How long to wait after the `attempt`th try, in ms. What the server asked for is waited out in
 * full; the jitter comes on top, so that a crowd does not come back as one.
 */
export function waitMs(
  policy: RetryPolicy,
  attempt: number,
  askedMs: number | undefined,
  random: number,
): number {
  const { baseMs, capMs } = policy;
  if (askedMs !== undefined) return askedMs + random * baseMs;
  return random * Math.min(capMs, baseMs * 2 ** (attempt - 1));
}

/** Returns after `ms` or as soon as one of the signals aborts. */
export function sleep(ms: number, ...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      for (const signal of signals) signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    for (const signal of signals) {
      if (signal?.aborted) end();
      else signal?.addEventListener('abort', end);
    }
  });
}
