import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Caller, type GraphQLServer, newContext, type Services } from '../graphql/index.ts';
import { acceptable } from './accept.ts';
import { type Refusal, send, sendRefusal } from './answer.ts';
import { BadBody, readJson, saysJson } from './body.ts';
import { bearerOf, idempotencyKeyOf } from './credentials.ts';
import type { Limits } from './limits.ts';
import type { TrustedDocuments } from './trusted-documents.ts';

export interface Identified extends Caller {
  readonly keyId: string;
}

export interface EndpointOptions {
  readonly graphql: GraphQLServer;
  readonly services: Services;
  readonly limits: Limits;
  readonly documents: TrustedDocuments;
  /** Whose key this is, if anybody's. */
  readonly identify: (key: string) => Promise<Identified | undefined>;
  /** Told of every refusal made here; it must not throw. */
  readonly onRefused: (code: string) => void;
}

const UNAVAILABLE: Refusal = {
  status: 503,
  code: 'IDEMPOTENCY_UNAVAILABLE',
  message:
    'The server cannot do this now. This request executed nothing; an earlier one with its key may have. Ask again with the same key.',
  retryAfterMs: 1_000,
};
const BAD_KEY: Refusal = {
  status: 401,
  code: 'UNAUTHENTICATED',
  message: 'This API key is not valid. Send a valid one as "Authorization: Bearer <key>".',
  headers: [['www-authenticate', 'Bearer']],
};

const limited = (retryAfterMs: number): Refusal => ({
  status: 429,
  code: 'RATE_LIMITED',
  message: 'Too many requests.',
  retryAfterMs,
});

/** `/graphql`: what can be refused without GraphQL is refused here, in the order of the contract. */
export class GraphQLEndpoint {
  readonly #options: EndpointOptions;

  constructor(options: EndpointOptions) {
    this.#options = options;
  }

  async handle(request: IncomingMessage, response: ServerResponse, search: string): Promise<void> {
    const accept = acceptable(request.headers.accept);
    const type = accept ?? 'application/json';
    const refuse = (refusal: Refusal): void => {
      this.#options.onRefused(refusal.code);
      sendRefusal(response, type, refusal);
    };
    if (accept === undefined) {
      const message = 'Answers come as application/json or application/graphql-response+json.';
      return refuse({ status: 406, code: 'BAD_REQUEST', message });
    }
    const { documents } = this.#options;
    try {
      const who = await this.#caller(request);
      if ('status' in who) return refuse(who);
      const answer = await this.#options.graphql.answer({
        method: request.method ?? 'GET',
        search: request.method === 'GET' ? documents.admitSearch(search) : search,
        accept,
        contentType: request.headers['content-type'],
        preflighted: preflighted(request),
        body: documents.admit(await bodyOf(request)),
        context: newContext({
          services: this.#options.services,
          caller: who.caller,
          idempotencyKeyHeader: idempotencyKeyOf(request),
          correlationId: randomUUID(),
        }),
      });
      send(response, answer.status, answer.text, answer.headers);
    } catch (error) {
      if (!(error instanceof BadBody)) throw error;
      // What is left of a body that is too large or too slow is not read.
      if (error.status === 413 || error.status === 408) response.setHeader('connection', 'close');
      refuse({ status: error.status, code: 'BAD_REQUEST', message: error.message });
    }
  }

  /** Who asks, or why nobody may: before the key, the body or the document is looked at. */
  async #caller(request: IncomingMessage): Promise<{ caller: Caller | undefined } | Refusal> {
    const key = bearerOf(request);
    if (key === undefined) return { caller: undefined };
    let caller: Identified | undefined;
    try {
      caller = key === null ? undefined : await this.#options.identify(key);
    } catch {
      return UNAVAILABLE;
    }
    const { limits } = this.#options;
    if (caller === undefined) {
      const waitMs = await limits.overWrong(request.socket.remoteAddress ?? '');
      return waitMs === undefined ? BAD_KEY : limited(waitMs);
    }
    const waitMs = await limits.overRate(caller.keyId);
    return waitMs === undefined ? { caller } : limited(waitMs);
  }
}

/** Headers that make a browser ask first, so that no form of another site can send them. */
function preflighted({ headers }: IncomingMessage): boolean {
  return 'apollo-require-preflight' in headers || 'x-apollo-operation-name' in headers;
}

/**
 * The body of a POST, if it says that it is JSON; any other body is left to the rule against forged
 * requests, or refused.
 */
async function bodyOf(request: IncomingMessage): Promise<unknown> {
  if (request.method !== 'POST') return undefined;
  const type = request.headers['content-type'] ?? '';
  if (saysJson(type)) return readJson(request);
  request.resume();
  const simple = /^\s*(text\/plain|multipart\/form-data|application\/x-www-form-urlencoded)/i;
  if (type !== '' && (preflighted(request) || !simple.test(type))) {
    throw new BadBody(415, 'The body must be application/json in UTF-8.');
  }
  return undefined;
}
