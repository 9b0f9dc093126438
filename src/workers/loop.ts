export interface LoopOptions {
  /** The pause between two runs that found nothing more to do, in ms; varied by a quarter. */
  readonly everyMs: number;
  /** One run. True asks for the next run at once. */
  readonly run: () => Promise<boolean>;
  /** Told of a run that failed; the loop goes on. It must not throw. */
  readonly onError: (error: unknown) => void;
  /** How long `soon` lets more calls gather, in ms; 0 if left out. */
  readonly gatherMs?: number;
}

export interface Loop {
  /** Asks for a run that begins after this call, without the usual pause. */
  soon(): void;
  /** Ends the loop after the run that is under way. */
  stop(): Promise<void>;
}

/** Runs again and again until it is stopped. Only this file knows of pauses. */
export function startLoop({ everyMs, run, onError, gatherMs = 0 }: LoopOptions): Loop {
  let stopped = false;
  let asked = false;
  let gathering: NodeJS.Timeout | undefined;
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
      asked = false;
      const more = await run().catch((error: unknown) => {
        onError(error);
        return false;
      });
      if (!more && !asked && !stopped) await pause();
    }
  })();
  return {
    soon: () => {
      gathering ??= setTimeout(() => {
        gathering = undefined;
        asked = true;
        wake();
      }, gatherMs);
    },
    stop: () => {
      stopped = true;
      clearTimeout(gathering);
      wake();
      return ended;
    },
  };
}
