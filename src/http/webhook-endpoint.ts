import type { IncomingMessage, ServerResponse } from 'node:http';
import { send } from './answer.ts';
import { BadBody, readText, saysJson } from './body.ts';

/** What came of a webhook: it is known and done, or why it is not. */
export type Taken = 'taken' | 'forged' | 'unknown' | 'unavailable';

export interface WebhookEndpointOptions {
  /** The PSP that this server works with: `/webhooks/<name>`. */
  readonly psp: string;
  /** Acts on a body and its headers (names in lower case); undefined: no signing secret is set. */
  readonly take:
    | ((rawBody: string, headers: Readonly<Record<string, string | undefined>>) => Promise<Taken>)
    | undefined;
  /** Told of every refusal made here; it must not throw. */
  readonly onRefused: (code: string) => void;
}

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** A PSP tells again after this many seconds, or when it likes. */
  readonly retryAfterS?: number;
}

/** An event of Stripe is some kilobytes; its metadata may add 25. */
const MOST_BYTES = 256 * 1024;

const NOT_HERE: Refusal = {
  status: 404,
  code: 'UNKNOWN_PSP',
  message: 'This server takes no webhooks of such a PSP.',
};
const NOT_SET_UP: Refusal = {
  status: 503,
  code: 'WEBHOOKS_NOT_CONFIGURED',
  message: 'No signing secret is configured: nothing can be believed. Send it again later.',
  retryAfterS: 60,
};
const FORGED: Refusal = {
  status: 400,
  code: 'WEBHOOK_SIGNATURE_INVALID',
  message: 'The signature is missing, wrong, or too old.',
};
const NOT_KNOWN: Refusal = {
  status: 503,
  code: 'WEBHOOK_PAYMENT_UNKNOWN',
  message: 'The payment is not known here, or not yet. Send it again later.',
  retryAfterS: 60,
};
const UNAVAILABLE: Refusal = {
  status: 503,
  code: 'WEBHOOK_NOT_STORED',
  message: 'The event could not be written. Send it again.',
  retryAfterS: 5,
};

/** `POST /webhooks/<psp>`: answers 200 only once what came and what it did are committed. */
export class WebhookEndpoint {
  readonly #options: WebhookEndpointOptions;

  constructor(options: WebhookEndpointOptions) {
    this.#options = options;
  }

  /** @param psp what follows `/webhooks/` in the path */
  async handle(psp: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { take } = this.#options;
    if (psp !== this.#options.psp) return this.#refuse(response, NOT_HERE);
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      const message = 'Webhooks come by POST.';
      return this.#refuse(response, { status: 405, code: 'BAD_REQUEST', message });
    }
    if (take === undefined) return this.#refuse(response, NOT_SET_UP);
    try {
      const taken = await take(await bodyOf(request), headersOf(request));
      if (taken === 'forged') return this.#refuse(response, FORGED);
      if (taken === 'unknown') return this.#refuse(response, NOT_KNOWN);
      if (taken === 'unavailable') return this.#refuse(response, UNAVAILABLE);
      answer(response, 200, { received: true });
    } catch (error) {
      if (!(error instanceof BadBody)) throw error;
      if (error.status === 413 || error.status === 408) response.setHeader('connection', 'close');
      const { status, message } = error;
      this.#refuse(response, { status, code: 'BAD_REQUEST', message });
    }
  }

  /** What is not read is refused as what may be sent again. */
  refuseWhileStopping(response: ServerResponse): void {
    this.#refuse(response, UNAVAILABLE);
  }

  #refuse(response: ServerResponse, { status, code, message, retryAfterS }: Refusal): void {
    this.#options.onRefused(code);
    const wait = retryAfterS === undefined ? [] : [['retry-after', `${retryAfterS}`] as const];
    answer(response, status, { error: { code, message } }, wait);
  }
}

function bodyOf(request: IncomingMessage): Promise<string> {
  if (saysJson(request.headers['content-type'] ?? '')) return readText(request, MOST_BYTES);
  request.resume();
  throw new BadBody(415, 'The body must be application/json in UTF-8.');
}

/** A header that came twice is no header of a PSP's. */
function headersOf({ headersDistinct }: IncomingMessage): Record<string, string | undefined> {
  const once = Object.entries(headersDistinct).map(
    ([name, values = []]) => [name, values.length === 1 ? values[0] : undefined] as const,
  );
  return Object.fromEntries(once);
}

function answer(
  response: ServerResponse,
  status: number,
  body: object,
  headers: readonly (readonly [string, string])[] = [],
): void {
  send(response, status, JSON.stringify(body), [
    ['content-type', 'application/json; charset=utf-8'],
    ['cache-control', 'no-store'],
    ...headers,
  ]);
}
