import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { eventually } from './pay.ts';

/** One request as it came. */
export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly at: number;
}

export type Answering = (received: Received, response: ServerResponse) => void;

/** A merchant's own server. */
export interface Receiver {
  readonly url: string;
  readonly received: readonly Received[];
  /** From now on; 204 until it is said. */
  answer(how: Answering): void;
  /** Waits for so many requests. */
  got(count: number, withinMs?: number): Promise<readonly Received[]>;
  close(): Promise<void>;
}

export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}, body = ''): Answering =>
  (_, response) =>
    response.writeHead(code, headers).end(body);

export async function startReceiver(host = '127.0.0.1'): Promise<Receiver> {
  const received: Received[] = [];
  let answering: Answering = status(204);
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk;
    const one = { path: request.url ?? '', headers: request.headers, body, at: Date.now() };
    received.push(one);
    answering(one, response);
  });
  server.listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${port}/hooks`,
    received,
    answer: (how) => {
      answering = how;
    },
    got: (count, withinMs) =>
      eventually(
        async () => received,
        (all) => all.length >= count,
        withinMs,
      ),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What a receiver makes of it: the body, if the signature is good. */
export function verified({ headers, body }: Received, secret: string): Message {
  return new Webhook(secret).verify(body, headers as Record<string, string>) as Message;
}

export interface Message {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export const idOf = ({ headers }: Received): string => String(headers['webhook-id']);
