/** For teams that keep Apollo Client 4. Nothing of it is imported: it is handed in. */
import { answerOf, linkedOf, type Payer } from './linked.ts';
import { type GraphQLBody, type Reply, readBody, retryAfterMs, type Transport } from './wire.ts';

export { intentKey, OutcomeUnknownError } from './linked.ts';

interface ApolloOperation {
  readonly operationName?: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  getContext(): object;
}

interface Observer {
  next(result: never): void;
  error(error: unknown): void;
  complete(): void;
}

interface Stream {
  subscribe(observer: {
    next(result: unknown): void;
    error(error: unknown): void;
    complete(): void;
  }): { unsubscribe(): void };
}

/** `ApolloLink` and `Observable`, as `@apollo/client` exports them. */
export interface ApolloParts<Link, Operation, Results> {
  readonly ApolloLink: new (
    request: (operation: Operation, forward: (operation: Operation) => Results) => Results,
  ) => Link;
  readonly Observable: new (subscribe: (observer: Observer) => () => void) => Results;
}

/**
 * A link for mutations whose key is `intentKey(scope)`: it puts the intent's key in its place, the
 * same on every try; retries by the client's policy; and makes refusals that came with 409 or 422
 * results with `errors`, so that a `RetryLink` in front does not take them for network errors.
 * Everything else passes. Put it right before the `HttpLink`.
 *
 * ```ts
 * ApolloLink.from([new RetryLink(), intentLink({ pay, ApolloLink, Observable }), new HttpLink({ uri })])
 * ```
 */
export function intentLink<Link, Operation extends ApolloOperation, Results extends Stream>({
  pay,
  ApolloLink,
  Observable,
}: ApolloParts<Link, Operation, Results> & { readonly pay: Payer }): Link {
  return new ApolloLink((operation, forward) => {
    const linked = linkedOf(pay, operation.operationName, operation.variables);
    if (linked === undefined) return forward(operation);
    return new Observable((observer) => {
      const stop = new AbortController();
      answerOf(pay, linked, through(operation, forward), stop.signal).then(
        (answer) => {
          observer.next(answer as never);
          observer.complete();
        },
        (error) => observer.error(error),
      );
      return () => stop.abort();
    });
  });
}

/** Sends one try by the links that follow. */
function through<Operation extends ApolloOperation>(
  operation: Operation,
  forward: (operation: Operation) => Stream,
): Transport {
  return ({ variables, signal }) =>
    new Promise((resolve) => {
      let body: GraphQLBody | undefined;
      const subscription = forward(withVariables(operation, variables)).subscribe({
        next: (result) => {
          body = result as GraphQLBody;
        },
        error: (error) => resolve(replyOf(error)),
        complete: () => resolve(answered(body, operation)),
      });
      signal.addEventListener('abort', () => subscription.unsubscribe());
    });
}

function withVariables<Operation extends ApolloOperation>(
  operation: Operation,
  variables: Operation['variables'],
): Operation {
  const copy = Object.create(
    Object.getPrototypeOf(operation),
    Object.getOwnPropertyDescriptors(operation),
  );
  return Object.defineProperty(copy, 'variables', { value: variables, enumerable: true });
}

interface Response {
  readonly status?: number;
  readonly headers?: { get(name: string): string | null };
}

function answered(body: GraphQLBody | undefined, operation: ApolloOperation): Reply {
  const { response } = operation.getContext() as { readonly response?: Response };
  return {
    kind: 'answer',
    status: response?.status ?? 200,
    retryAfterMs: retryAfterMs(response?.headers?.get('retry-after'), Date.now()),
    body,
  };
}

/** A `ServerError` holds an answer; it is one only for its status. */
function replyOf(error: unknown): Reply {
  const { statusCode, bodyText, response } = error as {
    readonly statusCode?: unknown;
    readonly bodyText?: unknown;
    readonly response?: Response;
  };
  if (typeof statusCode !== 'number') return { kind: 'lost', cause: error };
  return {
    kind: 'answer',
    status: statusCode,
    retryAfterMs: retryAfterMs(response?.headers?.get('retry-after'), Date.now()),
    body: readBody(String(bodyText)),
  };
}
