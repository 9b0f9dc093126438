export interface LoopOptions {
  /** The pause between two runs that found nothing more to do, in ms; varied by a quarter. */
  readonly everyMs: number;
  /** One run. True asks for the next run at once. */
  readonly run: () => Promise<boolean>;
  /** Told of a run that failed; the loop goes on. It must not throw. */
  readonly onError: (error: unknown) => void;
}

export interface Loop {
  /** Ends the loop after the run that is under way. */
  stop(): Promise<void>;
}

/** Runs again and again until it is stopped. Only this file knows of pauses. */
export function startLoop({ everyMs, run, onError }: LoopOptions): Loop {
  let stopped = false;
  let wake = (): void => {};
  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const ms = everyMs * (0.75 + Math.random() / 2);
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  const ended = (async () => {
    while (!stopped) {
      const more = await run().catch((error: unknown) => {
        onError(error);
        return false;
      });
      if (!more && !stopped) await pause();
    }
  })();
  return {
    stop: () => {
      stopped = true;
      wake();
      return ended;
    },
  };
}
