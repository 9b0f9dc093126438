/**
 * Loaded into a server that is measured, before its own code: tells on request what it holds in memory
 * once all garbage is collected. Needs `--expose-gc`.
 */
export interface Held {
  readonly heapMb: number;
  readonly externalMb: number;
  readonly rssMb: number;
}

const toMb = (bytes: number) => bytes / 1_048_576;

process.on('message', () => {
  globalThis.gc?.();
  const { heapUsed, external, rss } = process.memoryUsage();
  const held: Held = { heapMb: toMb(heapUsed), externalMb: toMb(external), rssMb: toMb(rss) };
  process.send?.(held);
});
