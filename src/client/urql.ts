/** For teams that keep urql. Nothing of it is imported; its streams are spoken to directly. */
import { answerOf, type Linked, linkedOf, type Payer } from './linked.ts';
import { type GraphQLBody, type Reply, retryAfterMs, type Transport } from './wire.ts';
import { listen, type Source, source } from './wonka.ts';

export { intentKey, OutcomeUnknownError } from './linked.ts';

interface UrqlOperation {
  readonly key: number;
  readonly kind: string;
  readonly query: unknown;
  readonly variables: unknown;
  readonly context: object;
}

interface UrqlError {
  readonly networkError?: Error | undefined;
  readonly graphQLErrors?: GraphQLBody['errors'];
  readonly response?: unknown;
}

interface UrqlResult<Operation> {
  readonly operation: Operation;
  readonly data?: unknown;
  readonly error?: UrqlError | undefined;
  readonly extensions?: unknown;
}

/** `makeResult` and `makeErrorResult`, as `@urql/core` exports them. */
export interface UrqlParts<Operation, Result> {
  makeResult(operation: Operation, answer: never): Result;
  makeErrorResult(operation: Operation, error: Error): Result;
}

/** In an operation's context: which try it is. */
const TRY = 'semelTry';

/**
 * An exchange for mutations whose key is `intentKey(scope)`: it puts the intent's key in its place,
 * the same on every try, and retries by the client's policy. Refusals come as `graphQLErrors`, an
 * unknown outcome as a network error. Everything else passes. Put it right before `fetchExchange`.
 *
 * ```ts
 * exchanges: [cacheExchange, intentExchange({ pay, makeResult, makeErrorResult }), fetchExchange]
 * ```
 */
export function intentExchange<
  Operation extends UrqlOperation,
  Result extends UrqlResult<Operation>,
>(parts: UrqlParts<Operation, Result> & { readonly pay: Payer }) {
  return ({ forward }: { forward(operations: Source<Operation>): Source<Result> }) =>
    (operations: Source<Operation>): Source<Result> =>
      source((results) => {
        const tries = new Tries<Operation, Result>();
        const running = new Map<number, AbortController>();
        const carry = async (operation: Operation, linked: Linked): Promise<void> => {
          const stop = new AbortController();
          running.set(operation.key, stop);
          results.next(await ending(parts, operation, linked, tries, stop.signal));
          running.delete(operation.key);
        };
        const onward = source<Operation>((next) => {
          tries.send = next.next;
          return listen(operations, {
            next: (operation) => {
              if (operation.kind === 'teardown') running.get(operation.key)?.abort();
              const linked = intentIn(parts.pay, operation);
              if (linked) void carry(operation, linked);
              else next.next(operation);
            },
            end: next.end,
          });
        });
        return listen(forward(onward), {
          next: (result) => {
            if (!tries.take(result)) results.next(result);
          },
          end: results.end,
        });
      });
}

/** What the caller of a mutation gets. Its operation is the caller's own, so that urql finds it. */
async function ending<Operation extends UrqlOperation, Result extends UrqlResult<Operation>>(
  { pay, makeResult, makeErrorResult }: UrqlParts<Operation, Result> & { readonly pay: Payer },
  operation: Operation,
  linked: Linked,
  tries: Tries<Operation, Result>,
  signal: AbortSignal,
): Promise<Result> {
  try {
    const answer = await answerOf(pay, linked, tries.transportOf(operation), signal);
    return makeResult(operation, answer as never);
  } catch (error) {
    return makeErrorResult(operation, error as Error);
  }
}

/** Tries that were sent onward; their results come back among all others. */
class Tries<Operation extends UrqlOperation, Result extends UrqlResult<Operation>> {
  readonly #waiting = new Map<number, (result: Result) => void>();
  #count = 0;
  send: (operation: Operation) => void = () => {};

  transportOf(operation: Operation): Transport {
    return ({ variables, signal }) =>
      new Promise((resolve) => {
        this.#count += 1;
        const mark = this.#count;
        this.#waiting.set(mark, (result) => resolve(replyOf(result)));
        signal.addEventListener('abort', () => this.#waiting.delete(mark));
        this.send({ ...operation, variables, context: { ...operation.context, [TRY]: mark } });
      });
  }

  /** @returns whether the result belongs to a try */
  take(result: Result): boolean {
    const { [TRY]: mark } = result.operation.context as { readonly [TRY]?: number };
    if (mark === undefined) return false;
    this.#waiting.get(mark)?.(result);
    this.#waiting.delete(mark);
    return true;
  }
}

function intentIn(pay: Payer, { kind, query, variables }: UrqlOperation): Linked | undefined {
  if (kind !== 'mutation') return undefined;
  const { definitions = [] } = query as { definitions?: { name?: { value: string } }[] };
  return linkedOf(pay, definitions[0]?.name?.value, Object(variables));
}

function replyOf({ data, error, extensions }: UrqlResult<unknown>): Reply {
  const response = error?.response as
    | { readonly status?: number; readonly headers?: { get(name: string): string | null } }
    | undefined;
  if (error?.networkError && (response?.status ?? 200) < 400) {
    return { kind: 'lost', cause: error.networkError };
  }
  const errors = error?.graphQLErrors;
  return {
    kind: 'answer',
    status: response?.status ?? 200,
    retryAfterMs: retryAfterMs(response?.headers?.get('retry-after'), Date.now()),
    body: error?.networkError ? undefined : { data, extensions, ...(errors?.length && { errors }) },
  };
}
