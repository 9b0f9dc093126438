import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

/** A PSP's answer to one operation is some hundred bytes; more than this is not one of them. */
const MOST_ANSWER_BYTES = 65_536;

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /**
   * Covers waiting for a connection, connecting, headers and the whole body, in ms. After half of
   * it nothing is sent any more: with little time left for an answer it would end in doubt.
   */
  readonly deadlineMs: number;
}

/** What one HTTP exchange came to. */
export type Reply =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly retryAfter: string | null;
      /** The parsed JSON body; undefined if it is not JSON. */
      readonly body: unknown;
    }
  | {
      readonly kind: 'lost';
      /** False is a proof that no byte of the request was written and none will be. */
      readonly sent: boolean;
      /** True if no connection to the PSP could be made. */
      readonly unreachable: boolean;
      readonly reason: string;
    };

/**
 * One request, at most one answer, one deadline. Follows no redirect, sends nothing twice, never
 * rejects. `onSent` is called just before the first byte is written.
 */
export function exchange(
  dispatcher: Dispatcher,
  call: HttpCall,
  onSent?: () => void,
): Promise<Reply> {
  return new Promise((resolve) => {
    const { method, path, headers, body } = call;
    const handler = new ExchangeHandler(call.deadlineMs, resolve, onSent);
    dispatcher.dispatch(
      { method, path, headers, body, idempotent: false, headersTimeout: 0, bodyTimeout: 0 },
      handler,
    );
  });
}

/**
 * undici tells a handler when it starts to write: until then a failure proves that nothing was
 * sent, from then on nothing does.
 */
class ExchangeHandler implements Dispatcher.DispatchHandler {
  readonly #resolve: (reply: Reply) => void;
  readonly #onSent: (() => void) | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #latestStart: number;
  readonly #chunks: Buffer[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #over = false;
  #length = 0;
  #status = 0;
  #retryAfter: string | null = null;

  constructor(deadlineMs: number, resolve: (reply: Reply) => void, onSent?: () => void) {
    this.#resolve = resolve;
    this.#onSent = onSent;
    this.#timer = setTimeout(() => this.#giveUp('no answer in time'), deadlineMs);
    this.#latestStart = performance.now() + deadlineMs / 2;
  }

  /**
   * A throw takes the request out of the queue and leaves the connection to others. It must not
   * go out after we have said that it was not sent, nor twice: undici may start a request again
   * after its connection has closed.
   */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#controller === undefined && performance.now() > this.#latestStart) {
      this.#giveUp('not sent in time');
    }
    if (this.#over || this.#controller !== undefined) throw new Error('not to be sent any more');
    this.#controller = controller;
    this.#onSent?.();
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#status = status;
    this.#retryAfter = headers['retry-after'] ?? null;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#length += chunk.length;
    if (this.#length > MOST_ANSWER_BYTES) this.#giveUp('answer too large');
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const status = this.#status;
    const body = parsed(this.#chunks);
    this.#end({ kind: 'answered', status, retryAfter: this.#retryAfter, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const sent = this.#controller !== undefined;
    const word = codeOf(error);
    const unreachable = !sent && !OWN_CODES.has(word);
    const reason = sent ? 'connection lost' : (CONNECT_REASONS[word] ?? 'no connection');
    this.#end({ kind: 'lost', sent, unreachable, reason });
  }

  #giveUp(reason: string): void {
    const sent = this.#controller !== undefined;
    this.#end({
      kind: 'lost',
      sent,
      unreachable: false,
      reason: sent ? reason : 'not sent in time',
    });
    this.#controller?.abort(new Error(reason));
  }

  #end(reply: Reply): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#resolve(reply);
  }
}

/** Failures before sending that say nothing about the PSP: our call or our closed pool. */
const OWN_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_INVALID_ARG',
  'UND_ERR_DESTROYED',
  'UND_ERR_CLOSED',
]);

const CONNECT_REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset while connecting',
  ENOTFOUND: 'host name not found',
  EAI_AGAIN: 'host name not found',
  EHOSTUNREACH: 'host not reachable',
  ENETUNREACH: 'host not reachable',
  ETIMEDOUT: 'connecting took too long',
  UND_ERR_CONNECT_TIMEOUT: 'connecting took too long',
  UND_ERR_INVALID_ARG: 'request cannot be written',
  UND_ERR_DESTROYED: 'shutting down',
  UND_ERR_CLOSED: 'shutting down',
};

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function parsed(chunks: readonly Buffer[]): unknown {
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}
