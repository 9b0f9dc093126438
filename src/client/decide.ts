import type { Problem, Refusal, Verdict } from './outcome.ts';
import type { Reply } from './wire.ts';

/** What to do about a reply. */
export type Step<Ok = unknown, P extends Problem = Problem> =
  /** The server has said what became of it. */
  | {
      readonly do: 'end';
      readonly verdict: Exclude<Verdict<Ok, P>, { is: 'notSent' | 'rejected' }>;
    }
  /**
   * Send the same again. `why`: no answer, so it may have been done (`lost`); it is being done
   * (`busy`); it was turned away, so this try did nothing (`refused`); the key has certainly done
   * nothing so far (`notSent`).
   */
  | {
      readonly do: 'retry';
      readonly why: 'lost' | 'busy' | 'refused' | 'notSent';
      readonly afterMs?: number | undefined;
      readonly cause: unknown;
      readonly problem: P | Refusal;
    }
  /**
   * Sending the same again is of no use. What this try has done: `nothing`; or the key is `taken`,
   * by a request or an answer that we do not understand; or the server itself is in `doubt`.
   */
  | {
      readonly do: 'stop';
      readonly left: 'nothing' | 'taken' | 'doubt';
      readonly problem: P | Refusal;
    };

type Read<Ok, P extends Problem> = (data: unknown) => Verdict<Ok, P> | undefined;

/**
 * The whole policy of retries. Pure. What is not understood is never taken for "it did nothing":
 * the same key goes with every further try, so asking once more is always safe.
 */
export function decide<Ok, P extends Problem>(reply: Reply, read: Read<Ok, P>): Step<Ok, P> {
  if (reply.kind === 'lost') {
    const { cause } = reply;
    const problem = { code: 'NO_ANSWER', message: `No answer: ${cause}` };
    return { do: 'retry', why: reply.unsent ? 'refused' : 'lost', cause, problem };
  }
  const { status, body } = reply;
  const [error] = body?.errors ?? [];
  const data = Object(body?.data);
  const said = error ? Object.values(data).some((field) => field !== null) : body;
  if (said) return understood(data, read);
  const extensions = error?.extensions ?? {};
  const asked = extensions['retryAfterMs'];
  const afterMs = typeof asked === 'number' ? asked : reply.retryAfterMs;
  const code = String(extensions['code'] ?? `HTTP_${status}`);
  const message = error?.message ?? `HTTP ${status} without GraphQL.`;
  const problem: Refusal = { code, message, retryAfterMs: afterMs, extensions };
  const retry = { do: 'retry', afterMs, cause: problem, problem } as const;
  switch (code) {
    case 'IDEMPOTENCY_IN_PROGRESS':
      return { ...retry, why: 'busy' };
    case 'IDEMPOTENCY_KEY_REUSED':
      return { do: 'stop', left: 'taken', problem };
    case 'IDEMPOTENCY_OUTCOME_UNKNOWN':
      return { do: 'stop', left: 'doubt', problem };
    case 'IDEMPOTENCY_UNAVAILABLE':
    case 'RATE_LIMITED':
    case 'HTTP_429':
      return { ...retry, why: 'refused' };
  }
  return extensions['retryable'] === false || isRefusal(status)
    ? { do: 'stop', left: 'nothing', problem }
    : { ...retry, why: 'lost' };
}

/** Client errors are refusals; a timeout, a conflict and "too early" are not. */
function isRefusal(status: number): boolean {
  return status > 399 && status < 500 && ![408, 409, 425].includes(status);
}

function understood<Ok, P extends Problem>(data: unknown, read: Read<Ok, P>): Step<Ok, P> {
  let verdict: Verdict<Ok, P> | undefined;
  try {
    verdict = read(data);
  } catch {
    // Data of a newer server: see below.
  }
  if (verdict === undefined) return { do: 'stop', left: 'taken', problem: problemIn(data) };
  switch (verdict.is) {
    case 'rejected':
      return { do: 'stop', left: 'nothing', problem: verdict.problem };
    case 'notSent': {
      const { problem, retryAfterMs: afterMs } = verdict;
      return { do: 'retry', why: 'notSent', afterMs, cause: problem, problem };
    }
    default:
      return { do: 'end', verdict };
  }
}

/** The fields that every problem has, if the data hold them. */
function problemIn(data: unknown): Refusal {
  const [field] = Object.values(Object(data));
  const { code, message } = Object(Object(field).userErrors?.[0] ?? field);
  return {
    code: code ?? 'UNREADABLE_ANSWER',
    message: message ?? 'An answer of unknown form.',
  };
}
