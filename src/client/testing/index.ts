/**
 * A payments server in memory, as a `fetch` function, whose misbehaviour is scripted. It keeps the
 * contract of the real one (a key executes once, replays, is refused with other parameters), so
 * what a test counts in `charges` is what would have happened to money.
 */

import { type Answer, httpError, refusal } from './answers.ts';
import { type Book, Books } from './books.ts';

/**
 * What happens to one request.
 *
 * - `ok`: it is answered
 * - `dropRequest`: the connection fails before the server sees it
 * - `dropAnswer`: it is carried out, then the connection fails
 * - `late`: the connection fails, and the request reaches the server right before the next one
 * - `duplicate`: the network delivers it twice
 * - `truncated`: it is carried out, and half of the answer arrives
 * - `busy` (409), `unavailable` (503), `internal` (500), `unauthenticated` (401), `badInput` (400):
 *   refused by the server without an effect; `broken` (502): by a proxy in front of it
 * - `limited`: 429 with `Retry-After` in seconds, and nothing else
 * - `slow`: it is carried out at once and answered after `ms`
 * - `decline`, `pspUnavailable`, `pending`: what the PSP says, if the key is not decided yet
 */
export type Fault =
  | 'ok'
  | 'dropRequest'
  | 'dropAnswer'
  | 'late'
  | 'duplicate'
  | 'truncated'
  | 'busy'
  | 'unavailable'
  | 'internal'
  | 'unauthenticated'
  | 'badInput'
  | 'broken'
  | 'decline'
  | 'pspUnavailable'
  | 'pending'
  | { readonly limited: number }
  | { readonly slow: number };

export interface SeenRequest {
  readonly operationName: string;
  /** Undefined if the request carried none. */
  readonly key: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly fault: Fault;
  /** Epoch ms. */
  readonly at: number;
}

/** As much of `fetch` as clients use. */
type FakeFetch = (url: unknown, init?: RequestInit) => Promise<Response>;

export interface FakeServer {
  readonly fetch: FakeFetch;
  /** Every request that was sent, those that never arrived included. */
  readonly requests: readonly SeenRequest[];
  /** Every charge that was made, in order. */
  readonly charges: readonly { readonly key: string; readonly input: unknown }[];
  /** How often the key was charged. */
  executions(key: string): number;
  /** The different keys of all requests for payments. */
  keys(): readonly string[];
  /** What happens to the next requests; then all is well again. */
  script(...faults: readonly Fault[]): void;
  /** Decides a pending payment. */
  settle(key: string, state: 'SUCCEEDED' | 'DECLINED'): void;
}

interface Incoming {
  readonly operationName: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

export function fakeServer(...faults: readonly Fault[]): FakeServer {
  const books = new Books();
  const requests: SeenRequest[] = [];
  const script: Fault[] = [...faults];
  const late: Incoming[] = [];

  const fetch: FakeFetch = async (_url, init) => {
    const fault = script.shift() ?? 'ok';
    const incoming: Incoming = JSON.parse(String(init?.body));
    const { operationName, variables } = incoming;
    const headers = Object.fromEntries(new Headers(init?.headers));
    const key = variables['idempotencyKey'] as string | undefined;
    requests.push({ operationName, key, variables, headers, fault, at: Date.now() });
    await undefined;
    init?.signal?.throwIfAborted();
    for (const overdue of late.splice(0)) carryOut(books, overdue, 'ok');
    if (fault === 'late') late.push(incoming);
    if (fault === 'dropRequest' || fault === 'late') throw new TypeError('fetch failed');
    const answer = refusalFor(fault) ?? carryOut(books, incoming, fault);
    if (fault === 'duplicate') return respond(carryOut(books, incoming, fault));
    if (fault === 'dropAnswer') throw new TypeError('fetch failed');
    if (fault === 'truncated') return respond({ ...answer, text: answer.text.slice(0, 40) });
    if (typeof fault === 'object' && 'slow' in fault) await pause(fault.slow, init?.signal);
    return respond(answer);
  };

  return {
    fetch,
    requests,
    charges: books.charges,
    executions: (key) => books.charges.filter((charge) => charge.key === key).length,
    keys: () => [...new Set(requests.filter(isPayment).flatMap(({ key }) => key ?? []))],
    script: (...more) => void script.push(...more),
    settle: (key, state) => books.settle(key, state),
  };
}

function isPayment({ operationName }: SeenRequest): boolean {
  return operationName === 'CreatePayment';
}

function carryOut(books: Books, { operationName, variables }: Incoming, fault: Fault): Answer {
  const key = String(variables['idempotencyKey']);
  if (operationName === 'PaymentByKey') return books.byKey(key, decisionFor(fault));
  return books.createPayment(key, variables['input'], decisionFor(fault));
}

function decisionFor(fault: Fault): Book['state'] {
  switch (fault) {
    case 'decline':
      return 'DECLINED';
    case 'pspUnavailable':
      return 'NOT_SENT';
    case 'pending':
      return 'PENDING';
    default:
      return 'SUCCEEDED';
  }
}

function refusalFor(fault: Fault): Answer | undefined {
  if (typeof fault === 'object') {
    return 'limited' in fault
      ? httpError(429, 'Slow down.', { 'retry-after': String(fault.limited) })
      : undefined;
  }
  switch (fault) {
    case 'busy':
      return refusal(409, 'IDEMPOTENCY_IN_PROGRESS', 20);
    case 'unavailable':
      return refusal(503, 'IDEMPOTENCY_UNAVAILABLE', 20);
    case 'internal':
      return refusal(500, 'INTERNAL_SERVER_ERROR');
    case 'unauthenticated':
      return refusal(401, 'UNAUTHENTICATED');
    case 'badInput':
      return refusal(400, 'BAD_USER_INPUT');
    case 'broken':
      return httpError(502, '<html>Bad Gateway</html>', {});
    default:
      return undefined;
  }
}

function respond({ status, text, headers }: Answer): Response {
  return new Response(text, {
    status,
    headers: { 'content-type': 'application/graphql-response+json; charset=utf-8', ...headers },
  });
}

function pause(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
