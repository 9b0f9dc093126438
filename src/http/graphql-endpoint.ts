import type { IncomingMessage, ServerResponse } from 'node:http';
import { Context, type GraphQLServer, type Services } from '../graphql/index.ts';
import { acceptable, wantsStream } from './accept.ts';
import { type Refusal, send, sendRefusal } from './answer.ts';
import { BadBody, readJson, saysJson } from './body.ts';
import { bearerOf, type Identified, idempotencyKeyOf } from './credentials.ts';
import type { Limits } from './limits.ts';
import { operationIn, type StreamEndpoint } from './stream-endpoint.ts';
import type { TrustedDocuments } from './trusted-documents.ts';

export interface EndpointOptions {
  readonly graphql: GraphQLServer;
  readonly services: Services;
  readonly limits: Limits;
  readonly documents: TrustedDocuments;
  readonly streams: StreamEndpoint;
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
    if (wantsStream(request.headers.accept)) return this.#stream(request, response, search);
    const accept = acceptable(request.headers.accept);
    const type = accept ?? 'application/json';
    const refuse = (refusal: Refusal) => this.#refuse(response, type, refusal);
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
        context: new Context({
          services: this.#options.services,
          caller: who.caller,
          idempotencyKeyHeader: idempotencyKeyOf(request),
        }),
      });
      send(response, answer.status, answer.text, answer.headers);
    } catch (error) {
      this.#refuseBody(response, type, error);
    }
  }

  /** The same order, up to the document; then a stream instead of an answer. */
  async #stream(request: IncomingMessage, response: ServerResponse, search: string): Promise<void> {
    const { documents, streams } = this.#options;
    const type = 'application/json';
    try {
      const who = await this.#caller(request);
      if ('status' in who) return this.#refuse(response, type, who);
      const key = bearerOf(request);
      if (who.caller === undefined || typeof key !== 'string') {
        return this.#refuse(response, type, BAD_KEY);
      }
      const operation =
        request.method === 'GET'
          ? operationIn(documents.admitSearch(search))
          : documents.admit(await bodyOf(request));
      const refusal = await streams.handle(request, response, {
        caller: who.caller,
        key,
        operation,
      });
      if (refusal !== undefined) this.#refuse(response, type, refusal);
    } catch (error) {
      this.#refuseBody(response, type, error);
    }
  }

  #refuse(response: ServerResponse, type: string, refusal: Refusal): void {
    this.#options.onRefused(refusal.code);
    sendRefusal(response, type, refusal);
  }

  /** @throws what is no matter of the body */
  #refuseBody(response: ServerResponse, type: string, error: unknown): void {
    if (!(error instanceof BadBody)) throw error;
    const { status, message } = error;
    // What is left of a body that is too large or too slow is not read.
    if (status === 413 || status === 408) response.setHeader('connection', 'close');
    this.#refuse(response, type, { status, code: 'BAD_REQUEST', message });
  }

  /** Who asks, or why nobody may: before the key, the body or the document is looked at. */
  async #caller(request: IncomingMessage): Promise<{ caller: Identified | undefined } | Refusal> {
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
