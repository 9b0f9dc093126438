import { connect, type Socket } from 'node:net';
import type { Target } from './pay.ts';

/** One frame of a stream as it was written. */
export interface Frame {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string | undefined;
}

export interface Listening {
  readonly status: number;
  readonly headers: Headers;
  /** Every frame that came so far, signs of life left out. */
  readonly frames: Frame[];
  /** How many signs of life came. */
  beats(): number;
  /** Of the frames that have data: the results. */
  results(): {
    readonly data?: Record<string, unknown> | null;
    readonly errors?: readonly { message: string; extensions: Record<string, unknown> }[];
  }[];
  /** Resolves when the server has ended it. */
  readonly ended: Promise<void>;
  close(): void;
}

export interface Subscribe {
  readonly query: string;
  readonly variables?: object;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Opens a stream over fetch. What is refused has no frames and the text of the answer as `refused`. */
export async function listen(
  { url, apiKey }: Target,
  { query, variables = {}, headers = {} }: Subscribe,
): Promise<Listening & { readonly refused: string }> {
  const abort = new AbortController();
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    signal: abort.signal,
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream',
      ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
      ...headers,
    },
    body: JSON.stringify({ query, variables }),
  });
  const frames: Frame[] = [];
  const counted = { beats: 0 };
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const ended = isStream ? read(response, frames, counted) : Promise.resolve();
  return {
    status: response.status,
    headers: response.headers,
    frames,
    refused: isStream ? '' : await response.text(),
    beats: () => counted.beats,
    results: () => frames.flatMap(({ data }) => (data ? [JSON.parse(data)] : [])),
    ended,
    close: () => abort.abort(),
  };
}

async function read(
  response: Response,
  frames: Frame[],
  counted: { beats: number },
): Promise<void> {
  let rest = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      rest += decoder.decode(chunk, { stream: true });
      const parts = rest.split('\n\n');
      rest = parts.pop() ?? '';
      for (const part of parts) {
        if (part.startsWith(':')) counted.beats += 1;
        else if (!part.startsWith('retry:')) frames.push(frameOf(part));
      }
    }
  } catch {
    // Cut off, by us or by the server.
  }
}

function frameOf(text: string): Frame {
  const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(text)?.[1];
  return { id: field('id'), event: field('event'), data: field('data') };
}

/** A request written byte for byte, the answer unread until somebody resumes the socket. */
export function rawSubscribe({ url, apiKey }: Target, query: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const body = JSON.stringify({ query });
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  socket.write(
    [
      'POST /graphql HTTP/1.1',
      'host: semel',
      `authorization: Bearer ${apiKey}`,
      'accept: text/event-stream',
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
      '',
      body,
    ].join('\r\n'),
  );
  return new Promise((resolve) => socket.once('connect', () => resolve(socket)));
}
