import { BrokenCircuitError } from 'cockatiel';

/**
 * Redis could not do a step within its budget. The cause is reduced to a word: errors of the client
 * carry the command's arguments (tokens, answers, even the password), which must reach no log.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** What went wrong, for example `TIMEOUT`, `ECONNREFUSED`, `READONLY`, `BREAKER_OPEN`. */
  readonly reason: string;
  /** True if the step may have been done, or may still be done, although no reply came. */
  readonly inDoubt: boolean;

  constructor(reason: string, inDoubt: boolean) {
    super(`Redis cannot be used: ${reason}.`);
    this.reason = reason;
    this.inDoubt = inDoubt;
  }
}

interface Refusal extends Error {
  readonly name: 'ReplyError';
}

/** Redis answered, with an error: the step was refused and changed nothing. */
export function isRefusal(error: unknown): error is Refusal {
  return error instanceof Error && error.name === 'ReplyError';
}

/** One word for any error of the client. */
export function reasonOf(error: unknown): string {
  if (error instanceof BrokenCircuitError) return 'BREAKER_OPEN';
  if (!(error instanceof Error)) return 'UNEXPECTED';
  if (isRefusal(error)) return /^[A-Z]{2,}/.exec(error.message)?.[0] ?? 'ERR';
  if ('code' in error && typeof error.code === 'string') return error.code;
  if (error.message === 'Command timed out') return 'TIMEOUT';
  if (error.name === 'MaxRetriesPerRequestError') return 'CONNECTION_LOST';
  if (error.name === 'ClusterAllFailedError') return 'NOT_CONNECTED';
  return /writeable|isn't ready/.test(error.message) ? 'NOT_CONNECTED' : 'CONNECTION_LOST';
}
