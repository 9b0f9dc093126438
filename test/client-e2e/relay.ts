import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * What happens to one request.
 *
 * - `pass`: it is answered
 * - `reset`: the connection is reset before the server sees the request
 * - `dropAnswer`: the connection is reset after the server has answered
 * - `delayMs`: the answer comes that much later
 * - `gateway`: a gateway answers instead: `afterMs` after the request was sent on, whether the server
 *   has answered or not; or else after the server has answered
 * - `offlineMs`: the answer is dropped, and so is everything else for that long
 */
export type Trouble =
  | 'pass'
  | 'reset'
  | 'dropAnswer'
  | { readonly delayMs: number }
  | { readonly gateway: 502 | 504; readonly afterMs?: number }
  | { readonly offlineMs: number };

/** A gateway in front of a server, that can misbehave as gateways and networks do. */
export interface Relay {
  readonly url: string;
  /** The next requests' troubles; then all is well again. */
  script(...troubles: readonly Trouble[]): void;
  /** How many of them no request has met yet. */
  readonly left: number;
  close(): Promise<void>;
}

export async function startRelay(target: string): Promise<Relay> {
  const script: Trouble[] = [];
  let offlineUntil = 0;

  async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const cut = (): void => void request.socket.resetAndDestroy();
    if (performance.now() < offlineUntil) return cut();
    const trouble = script.shift() ?? 'pass';
    if (trouble === 'reset') return cut();
    const answering = sendOn(target, request);
    if (typeof trouble === 'object' && 'gateway' in trouble) {
      await Promise.race([answering, pause(trouble.afterMs ?? NEVER_MS)]);
      response.writeHead(trouble.gateway, { 'content-type': 'text/html' });
      response.end(`<h1>${trouble.gateway}</h1>`);
      return;
    }
    const answer = await answering;
    if (typeof trouble === 'object' && 'offlineMs' in trouble) {
      offlineUntil = performance.now() + trouble.offlineMs;
    }
    if (trouble === 'dropAnswer' || performance.now() < offlineUntil) return cut();
    if (typeof trouble === 'object' && 'delayMs' in trouble) await pause(trouble.delayMs);
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  const server = createServer((request, response) => {
    relay(request, response).catch(() => request.socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    script: (...troubles) => void script.splice(0, script.length, ...troubles),
    get left() {
      return script.length;
    },
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const PASSED_ON = ['accept', 'authorization', 'content-type'] as const;
const PASSED_BACK = ['content-type', 'retry-after'] as const;

/** Longer than the tests. */
const NEVER_MS = 60_000;

async function sendOn(target: string, request: IncomingMessage) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const response = await fetch(target + request.url, {
    method: request.method ?? 'POST',
    headers: PASSED_ON.map((name) => [name, String(request.headers[name])]),
    body: Buffer.concat(chunks),
  });
  const headers = PASSED_BACK.map((name) => [name, response.headers.get(name)] as const);
  return {
    status: response.status,
    headers: Object.fromEntries(headers.flatMap(([name, text]) => (text ? [[name, text]] : []))),
    body: Buffer.from(await response.arrayBuffer()),
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
