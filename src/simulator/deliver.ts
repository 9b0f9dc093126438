import type { ServerResponse } from 'node:http';
import type { Delivery } from './behaviours.ts';

const CODES: Readonly<Record<number, string>> = {
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'key_in_use',
  422: 'key_reused',
  429: 'rate_limited',
  500: 'internal',
  502: 'bad_gateway',
  503: 'unavailable',
  504: 'gateway_timeout',
};

export interface Manner {
  readonly delivery: Delivery;
  /** What a 429 or 503 asks the caller to wait, in ms. */
  readonly retryAfterMs: number;
  /** Pause between two bytes of `drip`, in ms. */
  readonly dripMs: number;
}

export function answerJson(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
  response.end(body);
}

export function answerError(response: ServerResponse, status: number, message: string): void {
  answerJson(response, status, errorBody(status, message));
}

/** Sends the body, or makes the exchange go wrong in the way that was asked for. */
export function deliver(response: ServerResponse, body: string, manner: Manner): void {
  const { delivery } = manner;
  if (typeof delivery === 'object') {
    answerStatus(response, delivery.status, manner.retryAfterMs);
    return;
  }
  switch (delivery) {
    case 'plain':
      answerJson(response, 200, body);
      return;
    case 'created':
      answerJson(response, 201, body);
      return;
    case 'extra_members':
    case 'lowercase_currency':
    case 'unknown_status':
    case 'no_id':
    case 'empty':
    case 'garbage':
      answerJson(response, 200, disguised(body, delivery));
      return;
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'redirect':
      response.writeHead(307, { location: '/v1/moved', 'content-length': 0 }).end();
      return;
    case 'truncate':
      writeHead(response, body);
      response.write(body.slice(0, body.length >> 1), () => response.socket?.destroy());
      return;
    case 'stall':
      writeHead(response, body);
      response.flushHeaders();
      return;
    case 'drip':
      writeHead(response, body);
      drip(response, Buffer.from(body), manner.dripMs);
  }
}

function answerStatus(response: ServerResponse, status: number, retryAfterMs: number): void {
  if (status === 429 || status === 503) {
    response.setHeader('retry-after', Math.ceil(retryAfterMs / 1_000));
  }
  answerError(response, status, 'as asked for by the behaviour');
}

function errorBody(status: number, message: string): string {
  return JSON.stringify({ error: { code: CODES[status] ?? `status_${status}`, message } });
}

type Disguise =
  | 'extra_members'
  | 'lowercase_currency'
  | 'unknown_status'
  | 'no_id'
  | 'empty'
  | 'garbage';

/** The answer as a PSP with a defect would send it. */
function disguised(body: string, disguise: Disguise): string {
  switch (disguise) {
    case 'extra_members':
      return `${body.slice(0, -1)},"livemode":false,"network":{"trace":[1,null,"x"]}}`;
    case 'lowercase_currency':
      return body.replace(/"currency":"[A-Z]{3}"/g, (text) => text.toLowerCase());
    case 'unknown_status':
      return body.replace(/"status":"[a-z_]+"/g, '"status":"perplexed"');
    case 'no_id':
      return body.replace(/"id":"[^"]*",/g, '');
    case 'empty':
      return '';
    case 'garbage':
      return '<html><body><h1>Please try again</h1></body></html>';
  }
}

function writeHead(response: ServerResponse, body: string): void {
  response.writeHead(200, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  });
}

function drip(response: ServerResponse, bytes: Buffer, pauseMs: number): void {
  let sent = 0;
  const timer = setInterval(() => {
    response.write(bytes.subarray(sent, sent + 1));
    sent += 1;
    if (sent === bytes.length) response.end();
  }, pauseMs);
  response.on('close', () => clearInterval(timer));
}
