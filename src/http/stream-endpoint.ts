import type { IncomingMessage, ServerResponse } from 'node:http';
import { Context, type Services, type Subscriptions } from '../graphql/index.ts';
import { type Refusal, send } from './answer.ts';
import { BadBody } from './body.ts';
import type { Identified } from './credentials.ts';
import type { EventStream } from './event-stream.ts';
import type { Listener, Streams } from './streams.ts';

export interface StreamEndpointOptions {
  readonly subscriptions: Subscriptions;
  /** What streams read with; apart from what payments are made with. */
  readonly services: Services;
  readonly streams: Streams;
  /** Told of each message that was sent; it must not throw. */
  readonly onSent: () => void;
  /** Told why a stream broke off; it must not throw. */
  readonly onBroken: (error: unknown) => void;
}

/** A request whose sender is known and whose document may be run. */
export interface StreamRequest {
  readonly caller: Identified;
  readonly key: string;
  readonly operation: unknown;
}

const FULL_RETRY_MS = 5_000;
const FULL = {
  process: { status: 503, message: 'This server has as many streams open as it may.' },
  merchant: { status: 429, message: 'This merchant has as many streams open as it may.' },
} as const;

/** Subscriptions as server-sent events. A refusal is answered like that of every other request. */
export class StreamEndpoint {
  readonly #options: StreamEndpointOptions;

  constructor(options: StreamEndpointOptions) {
    this.#options = options;
  }

  /** @returns why there is no stream, or undefined once it has ended */
  async handle(
    request: IncomingMessage,
    response: ServerResponse,
    { caller, key, operation }: StreamRequest,
  ): Promise<Refusal | undefined> {
    const listener: Listener = { merchantId: caller.merchantId, key };
    const stream = this.#options.streams.enter(listener, response);
    if (typeof stream === 'string') {
      return { ...FULL[stream], code: 'RATE_LIMITED', retryAfterMs: FULL_RETRY_MS };
    }
    try {
      await this.#run(request, response, stream, { caller, key, operation });
    } finally {
      stream.cut();
    }
    return undefined;
  }

  async #run(
    request: IncomingMessage,
    response: ServerResponse,
    stream: EventStream,
    { caller, operation }: StreamRequest,
  ): Promise<void> {
    const { subscriptions, services, onSent, onBroken } = this.#options;
    const lastEventId = request.headers['last-event-id'];
    const answer = await subscriptions.open({
      ...membersOf(operation),
      context: new Context({
        services,
        caller,
        idempotencyKeyHeader: undefined,
        stream: {
          signal: stream.signal,
          lastEventId:
            typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : undefined,
        },
      }),
    });
    if ('errors' in answer) return refuse(response, answer.status, answer.errors);
    await stream.send(answer.messages, onSent).catch(onBroken);
  }
}

type Errors = readonly { readonly extensions?: Readonly<Record<string, unknown>> }[];

function refuse(response: ServerResponse, status: number, errors: Errors): void {
  const retryAfterMs = errors[0]?.extensions?.['retryAfterMs'];
  send(response, status, JSON.stringify({ errors }), [
    ['content-type', 'application/json; charset=utf-8'],
    ['cache-control', 'no-store'],
    ...(typeof retryAfterMs === 'number'
      ? [['retry-after', String(Math.ceil(retryAfterMs / 1_000))] as const]
      : []),
  ]);
}

function membersOf(operation: unknown) {
  if (typeof operation !== 'object' || operation === null || Array.isArray(operation)) {
    throw new BadBody(400, 'There is no operation: send {"query": …} as application/json.');
  }
  const { query, variables, operationName } = operation as Readonly<Record<string, unknown>>;
  return { query, variables, operationName };
}

/** The operation of a GET. @throws BadBody if the variables are not JSON */
export function operationIn(search: string): unknown {
  const parameters = new URLSearchParams(search);
  const variables = parameters.get('variables');
  try {
    return {
      query: parameters.get('query'),
      operationName: parameters.get('operationName'),
      variables: variables === null || variables === '' ? undefined : JSON.parse(variables),
    };
  } catch {
    throw new BadBody(400, 'The variables are not JSON.');
  }
}
