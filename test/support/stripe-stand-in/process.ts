import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Books } from './books.ts';
import { type Answer, BEFORE, errorBody, FAULTS, type Fault, spoil, write } from './faults.ts';

/*
 * A stand-in for Stripe that follows its published API where the adapter uses it: form bodies,
 * idempotency keys with their parameters, error bodies, PaymentIntents, refunds, search. The payment
 * method `pm_fault_<name>` brings a fault; so does POST /admin/fault for the next order or look-up.
 */
const books = new Books();
const kept = new Map<string, { readonly asked: string; readonly answer: Answer }>();
const requests: { readonly method: string; readonly path: string; readonly key: string | null }[] =
  [];
const next: { fault: Fault; method: string }[] = [];
const limited = new Set<string>();
let lagMs = 0;

async function serve(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  const url = new URL(request.url ?? '/', 'http://stripe');
  const body = await text(request);
  if (url.pathname.startsWith('/admin/')) return admin(url, body, response);
  const key = (request.headers['idempotency-key'] as string | undefined) ?? null;
  requests.push({ method: request.method ?? '', path: url.pathname, key });
  if (!/^Bearer sk_test_/.test(request.headers.authorization ?? '')) {
    return write(response, { status: 401, body: errorBody('invalid_request_error', null) });
  }
  if (request.method === 'GET') {
    const fault = takeFault('GET');
    const refused = fault === undefined ? undefined : BEFORE[fault];
    const answer = refused ?? read(url);
    return fault === undefined ? write(response, answer) : spoil(response, fault, answer);
  }
  return order(url.pathname, new URLSearchParams(body), body, key ?? '', response);
}

function order(
  path: string,
  form: URLSearchParams,
  body: string,
  key: string,
  response: ServerResponse,
): ServerResponse {
  const asked = `${path}?${body}`;
  const first = kept.get(key);
  if (first !== undefined) {
    const same = first.asked === asked;
    return write(
      response,
      same ? first.answer : { status: 400, body: errorBody('idempotency_error', null) },
    );
  }
  const fault = faultOf(form, key);
  if (fault === 'hang_before' || fault === 'reset_before') {
    return spoil(response, fault, { status: 200, body: {} });
  }
  const refused = fault === undefined ? undefined : BEFORE[fault];
  if (refused !== undefined) return write(response, refused);
  const answer = execute(path, form);
  // Stripe keeps the first result for the key, a 500 of its own included.
  const own500 = { status: 500, body: errorBody('api_error', null) };
  kept.set(key, { asked, answer: fault === 'execute_then_500' ? own500 : answer });
  return fault === undefined ? write(response, answer) : spoil(response, fault, answer);
}

function execute(path: string, form: URLSearchParams): Answer {
  const [, , kind, id = '', verb] = path.split('/');
  if (kind === 'refunds') return books.refund(form);
  switch (verb) {
    case 'capture':
      return books.capture(id, form);
    case 'cancel':
      return books.cancel(id);
    case 'confirm':
      return books.confirm(id);
    default:
      return books.create(form);
  }
}

function read({ pathname, searchParams }: URL): Answer {
  const id = pathname.split('/')[3];
  if (pathname === '/v1/refunds') {
    const after = searchParams.get('starting_after');
    return books.refundsOf(
      searchParams.get('payment_intent') ?? '',
      Number(searchParams.get('limit')),
      after,
    );
  }
  if (id === 'search') return books.search(searchParams.get('query') ?? '', lagMs);
  return books.retrieve(id ?? '');
}

/** A rate limit holds only the first try of a key. */
function faultOf(form: URLSearchParams, key: string): Fault | undefined {
  const named = /^pm_fault_(\w+)$/.exec(form.get('payment_method') ?? '')?.[1];
  const fault = FAULTS.find((name) => name === named) ?? takeFault('POST');
  if (fault !== 'rate_limited') return fault;
  if (limited.has(key)) return undefined;
  limited.add(key);
  return fault;
}

function takeFault(method: string): Fault | undefined {
  const at = next.findIndex((one) => one.method === method);
  return at < 0 ? undefined : next.splice(at, 1)[0]?.fault;
}

function admin(
  { pathname, searchParams }: URL,
  body: string,
  response: ServerResponse,
): ServerResponse {
  const given = body === '' ? {} : JSON.parse(body);
  switch (pathname) {
    case '/admin/moved': {
      const reference = searchParams.get('reference');
      const all = books.moved.filter((one) => reference === null || one.reference === reference);
      return write(response, { status: 200, body: all });
    }
    case '/admin/requests':
      return write(response, { status: 200, body: requests });
    case '/admin/fault':
      next.push(given);
      break;
    case '/admin/lag':
      lagMs = given.lagMs;
      break;
    case '/admin/cancel':
      books.expire(given.id);
      break;
    case '/admin/authenticate':
      books.authenticate(given.id);
      break;
    default:
  }
  return write(response, { status: 200, body: {} });
}

const server = createServer((request, response) => void serve(request, response));
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
// The test that started it has gone.
process.stdin.resume().on('end', () => process.exit(0));
