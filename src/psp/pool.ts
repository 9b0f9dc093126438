import { Pool } from 'undici';

/** Connections to one PSP; each carries one request at a time. Times in ms. */
export function poolFor(
  origin: string,
  connections: number,
  { timeoutMs, connectTimeoutMs }: { timeoutMs: number; connectTimeoutMs?: number | undefined },
): Pool {
  const connectMs = connectTimeoutMs ?? Math.min(5_000, timeoutMs);
  return new Pool(origin, { connections, pipelining: 1, connect: { timeout: connectMs } });
}
