import type { ServerResponse } from 'node:http';

type Headers = Iterable<readonly [string, string]>;

/** Sends a whole answer. Nothing that is said here may be cached or sniffed. */
export function send(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Headers,
): void {
  if (response.headersSent || response.destroyed) return;
  response.statusCode = status;
  response.setHeader('x-content-type-options', 'nosniff');
  for (const [name, value] of headers) response.setHeader(name, value);
  response.setHeader('content-length', Buffer.byteLength(text));
  response.end(text);
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  send(response, status, text, [
    ['content-type', 'text/plain; charset=utf-8'],
    ['cache-control', 'no-store'],
  ]);
}

/** What goes wrong before GraphQL is asked has the form of a GraphQL answer without data. */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs?: number;
  readonly headers?: Headers;
}

export function sendRefusal(response: ServerResponse, type: string, refusal: Refusal): void {
  const { status, code, message, retryAfterMs, headers } = refusal;
  const extensions = {
    code,
    retryable: retryAfterMs !== undefined,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    safeToRetryWithSameKey: true,
  };
  const wait =
    retryAfterMs === undefined
      ? []
      : [['retry-after', String(Math.ceil(retryAfterMs / 1_000))] as const];
  send(response, status, JSON.stringify({ errors: [{ message, extensions }] }), [
    ['content-type', `${type}; charset=utf-8`],
    ['cache-control', 'no-store'],
    ...wait,
    ...(headers ?? []),
  ]);
}
