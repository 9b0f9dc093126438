import { decide, type Step } from './decide.ts';
import type { Request } from './operation.ts';
import type { Problem } from './outcome.ts';
import { type RetryPolicy, sleep, waitMs } from './retry.ts';
import type { GraphQLBody, Reply, Transport } from './wire.ts';

/** Told of each try: for logs, counters and "still trying" on a page. It must not throw. */
export interface Attempt {
  readonly scope: string;
  readonly operation: string;
  readonly key: string;
  /** Counts from 1 in each call. */
  readonly attempt: number;
  readonly event: 'sent' | 'answer' | 'lost' | 'waiting';
  readonly status?: number | undefined;
  /** What the server refused with, or why there is no answer. */
  readonly code?: string | undefined;
  readonly waitMs?: number;
}

/**
 * What may have been done under the key by all tries so far: nothing (`none`), perhaps something
 * (`lost`), or nothing although the key is bound to its parameters at the server (`notSent`).
 */
export type Standing = 'none' | 'lost' | 'notSent';

export interface Conversation<Ok, P extends Problem> {
  readonly request: Request<Ok, P>;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly transport: Transport;
  readonly policy: RetryPolicy;
  readonly standing: Standing;
  /** True if the request only asks about a key: then "not sent" is an answer, no reason to retry. */
  readonly lookUp: boolean;
  readonly signal: AbortSignal;
  readonly tell: (event: Omit<Attempt, 'scope' | 'operation' | 'key'>) => void;
}

/** How a conversation ended. */
export interface Word<Ok, P extends Problem> {
  /** The last step; a `retry` if the attempts, the time or the caller's patience ended first. */
  readonly step: Step<Ok, P>;
  readonly standing: Standing;
  /** True if any try went unanswered. */
  readonly late: boolean;
  readonly attempts: number;
  readonly body: GraphQLBody | undefined;
}

/** Sends the same request until something final is said. */
export async function converse<Ok, P extends Problem>(
  conversation: Conversation<Ok, P>,
): Promise<Word<Ok, P>> {
  const { request, policy, lookUp, signal, tell } = conversation;
  const endsAt = Date.now() + policy.budgetMs;
  let { standing } = conversation;
  let late = standing === 'lost';
  for (let attempt = 1; ; attempt += 1) {
    tell({ attempt, event: 'sent' });
    const timeoutMs = Math.min(policy.timeoutMs, endsAt - Date.now());
    const reply = await attemptOnce(conversation, timeoutMs);
    const step = decide<Ok, P>(reply, (data) => request.read(data));
    tell({
      attempt,
      event: reply.kind,
      status: reply.kind === 'answer' ? reply.status : undefined,
      code: step.do === 'end' ? undefined : step.problem.code,
    });
    let over = true;
    let pauseMs = 0;
    if (step.do === 'retry') {
      const { why } = step;
      if (why === 'lost' || why === 'notSent') standing = why;
      late ||= why === 'lost';
      pauseMs = waitMs(policy, attempt, step.afterMs, Math.random());
      over = attempt >= policy.attempts || Date.now() + pauseMs >= endsAt;
      if (lookUp && why === 'notSent') over = true;
    }
    if (!over) {
      tell({ attempt, event: 'waiting', waitMs: pauseMs });
      await sleep(pauseMs, signal);
    }
    if (over || signal.aborted) {
      const body = reply.kind === 'answer' ? reply.body : undefined;
      return { step, standing, late, attempts: attempt, body };
    }
  }
}

/** Never throws, and never outlasts its time, even if the transport ignores its signal. */
async function attemptOnce<Ok, P extends Problem>(
  { request, variables, transport, signal }: Conversation<Ok, P>,
  timeoutMs: number,
): Promise<Reply> {
  const own = new AbortController();
  const sent = {
    operationName: request.name,
    query: request.text,
    documentId: request.id,
    variables,
  };
  const waiting = sleep(timeoutMs, signal, own.signal).then((): never => {
    throw signal.aborted ? signal.reason : new Error(`No answer within ${timeoutMs} ms.`);
  });
  try {
    return await Promise.race([transport({ ...sent, signal: own.signal }), waiting]);
  } catch (cause) {
    return { kind: 'lost', cause };
  } finally {
    own.abort();
  }
}
