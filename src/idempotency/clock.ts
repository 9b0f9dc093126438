/** Time as the engine sees it; a test may bring its own. */
export interface Clock {
  /** Monotonic time in ms. Only differences mean anything. */
  now(): number;
  /** Returns after `ms`, or as soon as `woken` settles. */
  sleep(ms: number, woken?: Promise<void>): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, woken) =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      const wake = (): void => {
        clearTimeout(timer);
        resolve();
      };
      woken?.then(wake, wake);
    }),
};
