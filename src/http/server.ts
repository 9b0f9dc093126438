import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sendRefusal, sendText } from './answer.ts';
import type { GraphQLEndpoint } from './graphql-endpoint.ts';
import type { Metrics } from './metrics.ts';
import { Pacer } from './pacer.ts';
import type { Pages } from './pages.ts';
import type { Streams } from './streams.ts';
import type { WebhookEndpoint } from './webhook-endpoint.ts';

export interface HttpServerOptions {
  readonly endpoint: GraphQLEndpoint;
  readonly webhooks: WebhookEndpoint;
  readonly metrics: Metrics;
  /** Why this server cannot serve, or undefined if it can. */
  readonly whyNotReady: () => Promise<string | undefined>;
  readonly pages: Pages;
  readonly streams: Streams;
  /** Told of each error that no handler expected; it must not throw. */
  readonly onError: (error: unknown) => void;
}

/**
 * Times in ms. Node measures them also while the process is too busy to read, so they are long; a slow
 * body is cut sooner, in `body.ts`. The idle time-out lies above the 60 s after which balancers drop a connection.
 */
const TIMES = { headers: 30_000, request: 30_000, idle: 75_000, check: 1_000 } as const;
/** Some milliseconds' worth of work. */
const REQUESTS_PER_TURN = 16;
/** Connections that may wait to be accepted; the kernel resets what overflows. */
const BACKLOG = 4_096;
const MAX_HEADER_BYTES = 16 * 1024;

const WEBHOOKS = '/webhooks/';

/** The server's only door: `/graphql`, the webhooks of the PSP, the probes and the pages. */
export class HttpServer {
  readonly #options: HttpServerOptions;
  readonly #server: Server;
  readonly #underWay = new Set<ServerResponse>();
  readonly #pacer = new Pacer(REQUESTS_PER_TURN);
  #draining = false;

  constructor(options: HttpServerOptions) {
    this.#options = options;
    this.#server = createServer(
      {
        maxHeaderSize: MAX_HEADER_BYTES,
        headersTimeout: TIMES.headers,
        requestTimeout: TIMES.request,
        keepAliveTimeout: TIMES.idle,
        connectionsCheckingInterval: TIMES.check,
      },
      (request, response) => void this.#serve(request, response),
    );
  }

  /** @returns where it listens */
  async listen(host: string, port: number): Promise<AddressInfo> {
    this.#server.listen({ port, host, backlog: BACKLOG });
    await once(this.#server, 'listening');
    return this.#server.address() as AddressInfo;
  }

  /**
   * Takes no new work, lets what runs end, at most for `graceMs`, and closes. Until then it goes on
   * listening: who comes is told to go elsewhere, and a probe sees why. Streams have no end of their
   * own: they are cut off at once.
   *
   * @returns false if something was still running when the time was up
   */
  async drain(graceMs: number): Promise<boolean> {
    this.#draining = true;
    this.#server.closeIdleConnections();
    for (const response of this.#underWay) response.shouldKeepAlive = false;
    this.#options.streams.close();
    const endsAt = performance.now() + graceMs;
    while (this.#underWay.size > 0 && performance.now() < endsAt) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const whole = this.#underWay.size === 0;
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
    return whole;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#draining) response.shouldKeepAlive = false;
    else this.#underWay.add(response);
    try {
      await this.#pacer.enter();
      await this.#route(request, response);
    } catch (error) {
      this.#options.onError(error);
      sendRefusal(response, 'application/json', {
        status: 500,
        code: 'INTERNAL_SERVER_ERROR',
        message: 'The server failed to answer this request.',
      });
    } finally {
      this.#underWay.delete(response);
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = request.url ?? '/';
    const mark = url.indexOf('?');
    const path = mark < 0 ? url : url.slice(0, mark);
    const search = mark < 0 ? '' : url.slice(mark);
    if (path === '/graphql') return this.#graphql(request, response, search);
    if (path.startsWith(WEBHOOKS)) {
      const { webhooks } = this.#options;
      if (this.#draining) return webhooks.refuseWhileStopping(response);
      return webhooks.handle(path.slice(WEBHOOKS.length), request, response);
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return sendText(response, path === '/' ? 405 : 404, 'Not here.\n');
    }
    switch (path) {
      case '/healthz':
        return sendText(response, 200, 'alive\n');
      case '/readyz':
        return this.#ready(response);
      case '/metrics':
        return this.#metrics(response);
      default:
        return this.#options.pages.serve(path, response, search);
    }
  }

  #graphql(
    request: IncomingMessage,
    response: ServerResponse,
    search: string,
  ): Promise<void> | void {
    if (this.#draining) {
      return sendRefusal(response, 'application/json', {
        status: 503,
        code: 'IDEMPOTENCY_UNAVAILABLE',
        message:
          'This server is stopping. This request executed nothing; an earlier one with its key may have. Ask again with the same key.',
        retryAfterMs: 1_000,
      });
    }
    if (request.method === 'GET' && wantsPage(request)) {
      return this.#options.pages.serve('/graphql', response, search);
    }
    if (request.method !== 'GET' && request.method !== 'POST') {
      response.setHeader('allow', 'GET, POST');
      const message = 'GraphQL is served by POST, and queries by GET.';
      return sendRefusal(response, 'application/json', {
        status: 405,
        code: 'BAD_REQUEST',
        message,
      });
    }
    return this.#options.endpoint.handle(request, response, search);
  }

  async #ready(response: ServerResponse): Promise<void> {
    const why = this.#draining ? 'stopping' : await this.#options.whyNotReady();
    sendText(response, why === undefined ? 200 : 503, `${why ?? 'ready'}\n`);
  }

  async #metrics(response: ServerResponse): Promise<void> {
    const { registry } = this.#options.metrics;
    const text = await registry.metrics();
    response.setHeader('content-type', registry.contentType);
    response.end(text);
  }
}

/** A browser that was pointed at the endpoint. */
function wantsPage(request: IncomingMessage): boolean {
  return (request.headers.accept ?? '').includes('text/html');
}
