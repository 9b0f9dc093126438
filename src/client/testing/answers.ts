/** An HTTP answer of the fake server. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;
}

export function data(value: unknown): Answer {
  return { status: 200, text: JSON.stringify({ data: value }), headers: {} };
}

/** A refusal as the real server makes them: the code, and how to go on. */
export function refusal(status: number, code: string, retryAfterMs?: number): Answer {
  const retryable = retryAfterMs !== undefined || code === 'INTERNAL_SERVER_ERROR';
  const safeToRetryWithSameKey = code !== 'IDEMPOTENCY_KEY_REUSED';
  const extensions = { code, retryable, retryAfterMs, safeToRetryWithSameKey };
  const errors = [{ message: `The fake server says ${code}.`, extensions }];
  const wait = retryAfterMs && { 'retry-after': String(Math.ceil(retryAfterMs / 1_000)) };
  return { status, text: JSON.stringify({ errors, data: null }), headers: { ...wait } };
}

/** What is not GraphQL: proxies, gateways. */
export function httpError(status: number, text: string, headers: Answer['headers']): Answer {
  return { status, text, headers: { 'content-type': 'text/html', ...headers } };
}
