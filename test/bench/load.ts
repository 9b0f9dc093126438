/**
 * The load generator, a process of its own: a closed loop of `concurrency` callers. It is told one
 * round at a time over IPC and answers with what it saw.
 */
import { Pool } from 'undici';

/** One round, as the parent asks for it. */
export interface Round {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The body; each `@` in it becomes a key that was never used. */
  readonly body: string;
  /** Keys to be used instead, by turns. */
  readonly keys?: readonly string[];
  readonly concurrency: number;
  /** The round ends after so many ms, or after so many requests. */
  readonly ms?: number;
  readonly requests?: number;
  /** A text that every right answer contains. */
  readonly expect: string;
}

export interface Seen {
  readonly requests: number;
  readonly ms: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Answers without the expected text, and the first of them. */
  readonly wrong: number;
  readonly firstWrong: string | null;
  /** The keys that were made. */
  readonly keys: readonly string[];
}

let keyCount = 0;
const run = process.pid.toString(36) + Date.now().toString(36);

async function play(round: Round): Promise<Seen> {
  const pool = new Pool(round.origin, { connections: round.concurrency, pipelining: 1 });
  const times: number[] = [];
  const keys: string[] = [];
  let wrong = 0;
  let firstWrong: string | null = null;
  const startedAt = performance.now();
  const endsAt = startedAt + (round.ms ?? Number.POSITIVE_INFINITY);
  let left = round.requests ?? Number.POSITIVE_INFINITY;
  const caller = async (): Promise<void> => {
    while (performance.now() < endsAt && left-- > 0) {
      const key = round.keys?.[times.length % round.keys.length] ?? `${run}-${keyCount++}`;
      const sentAt = performance.now();
      const answer = await pool.request({
        path: round.path,
        method: 'POST',
        headers: round.headers,
        body: round.body.replace('@', key),
      });
      const text = await answer.body.text();
      times.push(performance.now() - sentAt);
      keys.push(key);
      if (!text.includes(round.expect)) {
        wrong += 1;
        firstWrong ??= text.slice(0, 300);
      }
    }
  };
  await Promise.all(Array.from({ length: round.concurrency }, caller));
  const ms = performance.now() - startedAt;
  await pool.close();
  times.sort((one, other) => one - other);
  const at = (share: number) => times[Math.floor((times.length - 1) * share)] ?? 0;
  return { requests: times.length, ms, p50Ms: at(0.5), p99Ms: at(0.99), wrong, firstWrong, keys };
}

process.on('message', (round: Round) => {
  play(round).then(
    (seen) => process.send?.(seen),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
