import { getOperationAST, parse } from 'graphql';
import { remember } from './sent.ts';

export interface Operation {
  readonly query: string;
  readonly variables?: unknown;
  readonly operationName?: string | null | undefined;
}

export type Headers = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  /** As the server said it: seconds, or a date. */
  readonly retryAfter: string | null;
  readonly tookMs: number;
  /** The answer as it came; text if it is no JSON. */
  readonly body: unknown;
}

export const ENDPOINT = '/graphql';

export const STANDARD_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  accept: 'application/graphql-response+json, application/json;q=0.9',
};

/** What is sent instead where the answer is a stream. */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
};

export function isSubscription({ query, operationName }: Operation): boolean {
  try {
    return getOperationAST(parse(query), operationName)?.operation === 'subscription';
  } catch {
    return false;
  }
}

/** Sends one operation. An answer that says no is an answer too; only silence is thrown. */
export async function send(operation: Operation, headers: Headers = {}): Promise<Answer> {
  remember(operation.variables);
  const startedAt = performance.now();
  const response = await fetch(ENDPOINT, {
    method: 'POST',
    headers: { ...STANDARD_HEADERS, ...asText(headers) },
    body: JSON.stringify(operation),
  }).catch(silence);
  const text = await response.text();
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    tookMs: Math.round(performance.now() - startedAt),
    body: parsed(text),
  };
}

/**
 * Asks for a subscription and gives each result as it comes, as graphql-sse frames them. A refusal is one
 * result. Ends when the server says that it is complete, or the connection breaks.
 */
export async function* follow(
  operation: Operation,
  headers: Headers = {},
): AsyncGenerator<unknown, void> {
  const leave = new AbortController();
  const response = await fetch(ENDPOINT, {
    method: 'POST',
    headers: { ...asText(headers), ...STREAM_HEADERS },
    body: JSON.stringify(operation),
    signal: leave.signal,
  }).catch(silence);
  if (!response.ok || response.body === null) return yield parsed(await response.text());
  try {
    for await (const { event, data } of framesOf(response.body)) {
      if (event === 'complete') return;
      if (event === 'next') yield parsed(data);
    }
  } finally {
    leave.abort();
  }
}

interface Frame {
  readonly event: string | undefined;
  readonly data: string;
}

/** Of https://html.spec.whatwg.org/multipage/server-sent-events.html, as far as our server makes use of it. */
async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame, void> {
  const reader = body.pipeThrough(new TextDecoderStream() as ToText).getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const frames = (rest + value).split('\n\n');
    rest = frames.pop() ?? '';
    for (const frame of frames) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(frame)?.[1];
      yield { event: field('event'), data: field('data') ?? '' };
    }
  }
}

type ToText = ReadableWritablePair<string, Uint8Array>;

/** For the reader, to whom the line of code it happened in says nothing. */
function silence(): never {
  const error = new Error('No answer came. Send the same operation with the same key again.');
  delete error.stack;
  throw error;
}

/** Names in lower case, so that a header of the editor takes the place of a standard one. */
export function asText(headers: Headers): Record<string, string> {
  const entries = Object.entries(headers);
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
