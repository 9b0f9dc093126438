import type { ServerResponse } from 'node:http';

/** What is done to an answer; the work before it has been done or not, as the name says. */
export const FAULTS = [
  'execute_then_hang',
  'execute_then_reset',
  'execute_then_500',
  'execute_then_502_page',
  'execute_then_409',
  'execute_then_truncate',
  'execute_then_garbage',
  'execute_then_null',
  'execute_then_redirect',
  'execute_then_other_reference',
  'execute_then_wrong_amount',
  'hang_before',
  'reset_before',
  'fail_before_500',
  'lock_timeout',
  'key_in_use',
  'rate_limited',
  'unauthorized',
  'forbidden',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export const errorBody = (type: string, code: string | null, more: object = {}): object => ({
  error: { type, ...(code === null ? {} : { code }), message: 'The stand-in says no.', ...more },
});

/** Refusals that Stripe gives before it executes anything. */
export const BEFORE: Readonly<Partial<Record<Fault, Answer>>> = {
  fail_before_500: { status: 500, body: errorBody('api_error', null) },
  lock_timeout: { status: 429, body: errorBody('invalid_request_error', 'lock_timeout') },
  key_in_use: { status: 409, body: errorBody('idempotency_error', 'idempotency_key_in_use') },
  rate_limited: { status: 429, body: errorBody('invalid_request_error', 'rate_limit') },
  unauthorized: { status: 401, body: errorBody('invalid_request_error', null) },
  forbidden: { status: 403, body: errorBody('invalid_request_error', null) },
};

export function write(response: ServerResponse, { status, body }: Answer): ServerResponse {
  const headers = { 'content-type': 'application/json', 'request-id': `req_${Date.now()}` };
  const waits = status === 429 ? { 'retry-after': '2' } : {};
  return response.writeHead(status, { ...headers, ...waits }).end(JSON.stringify(body));
}

/** Answers as the fault has it, after the work. */
export function spoil(response: ServerResponse, fault: Fault, answer: Answer): ServerResponse {
  const object = answer.body as { amount?: number; metadata?: object };
  switch (fault) {
    case 'execute_then_hang':
    case 'hang_before':
      return response;
    case 'execute_then_reset':
    case 'reset_before':
      response.socket?.resetAndDestroy();
      return response;
    case 'execute_then_500':
      return write(response, { status: 500, body: errorBody('api_error', null) });
    case 'execute_then_502_page':
      response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad gateway</h1>');
      return response;
    case 'execute_then_409':
      return write(response, {
        status: 409,
        body: errorBody('invalid_request_error', 'lock_timeout'),
      });
    case 'execute_then_truncate':
      response.writeHead(200, { 'content-length': '5000' }).write('{"id":"pi_');
      response.socket?.end();
      return response;
    case 'execute_then_garbage':
      response.writeHead(200).end('<html>');
      return response;
    case 'execute_then_null':
      response.writeHead(200).end('null');
      return response;
    case 'execute_then_redirect':
      response.writeHead(307, { location: '/v1/elsewhere' }).end(JSON.stringify(answer.body));
      return response;
    case 'execute_then_other_reference':
      return write(response, { status: 200, body: { ...object, metadata: { semel_entry: 'x' } } });
    case 'execute_then_wrong_amount':
      return write(response, {
        status: 200,
        body: { ...object, amount_received: (object.amount ?? 0) + 1 },
      });
    default:
      return write(response, answer);
  }
}
