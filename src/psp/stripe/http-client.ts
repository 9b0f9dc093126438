import type { Pool } from 'undici';
import type { Breaker } from '../breaker.ts';
import { exchange, type Reply } from '../exchange.ts';

type Answered = Extract<Reply, { kind: 'answered' }>;

/**
 * No answer came. It carries no `code` on purpose: the SDK sends a request again whose error says
 * ECONNRESET or EPIPE, even with retries off.
 */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  /** False is a proof that no byte of the request was written and none will be. */
  readonly sent: boolean;
  readonly reason: string;
  /** When it may be tried again, in ms. */
  readonly retryAfterMs: number;

  constructor(sent: boolean, reason: string, retryAfterMs: number) {
    super(reason);
    this.sent = sent;
    this.reason = reason;
    this.retryAfterMs = retryAfterMs;
  }
}

export interface Connections {
  /** For requests that move money. */
  readonly orders: Pool;
  /** For reads, so that orders that hang cannot hold up recovery. */
  readonly lookups: Pool;
  readonly breaker: Breaker;
}

type Headers = Readonly<Record<string, string | number | readonly string[]>>;

/** What the SDK sends its requests with: one exchange each, never repeated, with a proof if not sent. */
export class OneExchange {
  readonly #connections: Connections;
  constructor(connections: Connections) {
    this.#connections = connections;
  }

  getClientName(): string {
    return 'semel';
  }

  /** @throws NoAnswer; host, port and protocol are those of the pools */
  async makeRequest(
    _host: string,
    _port: string,
    path: string,
    method: string,
    headers: Headers,
    body: string,
    _protocol: string,
    deadlineMs: number,
  ): Promise<Answer> {
    const { orders, lookups, breaker } = this.#connections;
    const common = { path, headers: written(headers), deadlineMs };
    const reply =
      method === 'GET'
        ? await exchange(lookups, { ...common, method, body: null })
        : await breaker.run((onSent) =>
            exchange(orders, { ...common, method: 'POST', body }, onSent),
          );
    if (reply.kind === 'open') throw new NoAnswer(false, 'PSP not reachable', reply.retryAfterMs);
    if (reply.kind === 'lost') throw new NoAnswer(reply.sent, reply.reason, 1_000);
    return new Answer(reply);
  }
}

/** One answer as the SDK reads it. */
class Answer {
  readonly #reply: Answered;
  constructor(reply: Answered) {
    this.#reply = reply;
  }

  getStatusCode(): number {
    return this.#reply.status;
  }

  getHeaders(): Record<string, string> {
    const { retryAfter } = this.#reply;
    return retryAfter === null ? {} : { 'retry-after': retryAfter };
  }

  getRawResponse(): object {
    return {};
  }

  toStream(): never {
    throw new Error('nothing is streamed');
  }

  /**
   * The SDK takes every object without `error` for a success, whatever the status, and hangs at a
   * body that is no object: both are refused here.
   */
  async toJSON(): Promise<object> {
    const { body, status } = this.#reply;
    if (typeof body !== 'object' || body === null || Array.isArray(body)) {
      throw new Error('not an object');
    }
    const failed = 'error' in body && typeof body.error === 'object' && body.error !== null;
    if (failed === (status === 200 || status === 201)) throw new Error('body against status');
    return body;
  }
}

/** undici counts the bytes itself. */
function written(headers: Headers): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers)
      .filter(([name]) => name.toLowerCase() !== 'content-length')
      .map(([name, value]) => [name, String(value)]),
  );
}
