import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { type AdminParts, administer } from './admin.ts';
import { readJson } from './body.ts';
import { commandOf, orderOf } from './command.ts';
import { answerError } from './deliver.ts';

/** Longer than any client keeps an idle connection, in ms, so that the client closes first. */
const KEEP_ALIVE_MS = 75_000;
const HEADERS_TIMEOUT_MS = 80_000;

/** The HTTP server, not yet listening. */
export function createSimulatorServer(parts: AdminParts): Server {
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    route(parts, request, response).catch(() => fail(response));
  });
  server.headersTimeout = HEADERS_TIMEOUT_MS;
  server.requestTimeout = 0;
  return server;
}

async function route(
  parts: AdminParts,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = '', url = '' } = request;
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  if (path.startsWith('/v1/')) {
    const query = mark < 0 ? undefined : new URLSearchParams(url.slice(mark + 1));
    if (method === 'POST') return order(parts, path, request, response);
    return lookUp(parts, { method, path, query }, response);
  }
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  return administer(parts, { method, path, query }, request, response);
}

async function order(
  { clerk, requests }: AdminParts,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const at = new Date().toISOString();
  const body = await readJson(request).catch(() => undefined);
  const key = request.headers['idempotency-key'];
  const idempotencyKey = typeof key === 'string' && key !== '' ? key : null;
  requests.note({ method: 'POST', path, reference: referenceIn(body), idempotencyKey, at });
  const verb = orderOf(path);
  if (verb === undefined) return answerError(response, 404, 'there is no such path');
  if (idempotencyKey === null) {
    return answerError(response, 400, 'the header Idempotency-Key is missing');
  }
  const command = commandOf(verb, idempotencyKey, path, body);
  if (command === undefined) {
    return answerError(response, 400, 'the body is not what this path accepts');
  }
  return clerk.work(command, response);
}

async function lookUp(
  { clerk, requests }: AdminParts,
  asked: { method: string; path: string; query: URLSearchParams | undefined },
  response: ServerResponse,
): Promise<void> {
  const { method, path, query } = asked;
  const reference = query?.get('reference') ?? null;
  const at = new Date().toISOString();
  requests.note({ method, path, reference, idempotencyKey: null, at });
  if (method !== 'GET' || path !== '/v1/operations') {
    return answerError(response, 404, 'there is no such path');
  }
  if (reference === null) return answerError(response, 400, 'reference: is missing');
  return clerk.lookUp(reference, response);
}

function referenceIn(body: unknown): string | null {
  if (typeof body !== 'object' || body === null || !('reference' in body)) return null;
  return typeof body.reference === 'string' ? body.reference : null;
}

function fail(response: ServerResponse): void {
  if (response.headersSent) response.destroy();
  else answerError(response, 500, 'the simulator could not write its books');
}
