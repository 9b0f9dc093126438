import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pool } from 'undici';

/** A PSP that answers nobody while it is held, and everybody once it is let go. */
export interface HeldPsp {
  readonly url: string;
  hold(): void;
  letGo(): void;
  /** Requests that wait now. */
  waiting(): number;
  close(): Promise<void>;
}

/** In front of a real PSP, which does the work. */
export async function holdBefore(psp: string): Promise<HeldPsp> {
  const pool = new Pool(psp, { connections: 256, pipelining: 1 });
  const waiting: (() => void)[] = [];
  let isHeld = false;
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await textOf(request);
    if (isHeld) await new Promise<void>((resolve) => waiting.push(resolve));
    const { method = 'POST', url = '/', headers } = request;
    const answer = await pool.request({
      path: url,
      method: method as 'POST',
      headers: {
        'content-type': 'application/json',
        'idempotency-key': String(headers['idempotency-key'] ?? ''),
      },
      body: method === 'POST' ? body : null,
    });
    response.writeHead(answer.statusCode, { 'content-type': 'application/json' });
    response.end(await answer.body.text());
  };
  const server = createServer(
    { keepAliveTimeout: 75_000, requestTimeout: 0 },
    (request, response) => {
      handle(request, response).catch(() => response.destroy());
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: () => {
      isHeld = true;
    },
    letGo: () => {
      isHeld = false;
      for (const go of waiting.splice(0)) go();
    },
    waiting: () => waiting.length,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await pool.close();
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string;
  return text;
}
