import { vi } from 'vitest';

/** Runs `work` on a clock that jumps from timer to timer; nothing sleeps. Random waits are `random`. */
export async function onFakeTime<T>(work: () => Promise<T>, random = 0.5): Promise<T> {
  vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
  const spy = vi.spyOn(Math, 'random').mockReturnValue(random);
  try {
    return await drive(work());
  } finally {
    spy.mockRestore();
    vi.useRealTimers();
  }
}

/** Lets fake time jump from timer to timer until the promise has settled. */
export async function drive<T>(running: Promise<T>): Promise<T> {
  let done = false;
  const settled = running.finally(() => {
    done = true;
  });
  settled.catch(() => {});
  while (!done) await vi.advanceTimersToNextTimerAsync();
  return settled;
}
