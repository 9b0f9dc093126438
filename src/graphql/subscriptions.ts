import {
  createSourceEventStream,
  type DocumentNode,
  type ExecutionResult,
  execute,
  GraphQLError,
  type GraphQLFormattedError,
  type GraphQLSchema,
  getOperationAST,
  parse,
  specifiedRules,
  validate,
} from 'graphql';
import { Context } from './context.ts';
import { authorise, checkForm, type ErrorOptions, shownError } from './gate.ts';
import { STATUS_OF_CODE } from './refusals.ts';
import type { Arrival } from './resolvers/subscription.ts';
import { DOCUMENT_LIMITS, validationRules } from './rules.ts';

export interface SubscriptionsOptions extends ErrorOptions {
  readonly schema: GraphQLSchema;
  /** Told of each error code that went out; it must not throw. */
  readonly onRefused: (code: string) => void;
}

/** An operation as it came; nothing is known of its members' types. */
export interface SubscriptionRequest {
  readonly query: unknown;
  readonly variables: unknown;
  readonly operationName: unknown;
  readonly context: Context;
}

/** One message: its id and an execution result as JSON; without a result at the beginning. */
export interface Message {
  readonly id: string;
  readonly text: string | undefined;
}

export type StreamAnswer =
  | { readonly messages: AsyncIterable<Message> }
  | { readonly status: number; readonly errors: readonly GraphQLFormattedError[] };

interface Accepted {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly variableValues: Readonly<Record<string, unknown>>;
  readonly operationName: string | undefined;
}

/** Subscriptions, under the rules that hold for everything else: the same limits, scopes and masks. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
  }

  /** Refused as a whole, or begun. The messages must be read, or at least returned. */
  async open(request: SubscriptionRequest): Promise<StreamAnswer> {
    const { context } = request;
    try {
      const accepted = this.#accept(request);
      const source = await createSourceEventStream({ ...accepted, contextValue: context });
      if ('errors' in source) return this.#refuse(source.errors ?? []);
      const arrivals = source as AsyncIterable<Arrival>;
      return { messages: this.#messages(arrivals, accepted, context) };
    } catch (error) {
      return this.#refuse(Array.isArray(error) ? error : [error]);
    }
  }

  /** @throws the errors for which the operation is refused */
  #accept({ query, variables, operationName, context }: SubscriptionRequest): Accepted {
    const { schema } = this.#options;
    if (typeof query !== 'string' || query === '')
      throw refused('BAD_REQUEST', 'There is no query.');
    const document = parsed(query);
    const errors = validate(schema, document, [...specifiedRules, ...validationRules]);
    if (errors.length > 0) throw errors.map((error) => coded(error, 'GRAPHQL_VALIDATION_FAILED'));
    const name = typeof operationName === 'string' ? operationName : undefined;
    const operation = getOperationAST(document, name);
    if (!operation) {
      throw refused('OPERATION_RESOLUTION_FAILURE', 'It does not say which operation to run.');
    }
    authorise(operation, context);
    checkForm(operation, context);
    return { schema, document, variableValues: asObject(variables), operationName: name };
  }

  /** Each arrival is answered from a context of its own: what was loaded for the last one is old. */
  async *#messages(
    arrivals: AsyncIterable<Arrival>,
    accepted: Accepted,
    context: Context,
  ): AsyncGenerator<Message> {
    for await (const arrival of arrivals) {
      const { id } = arrival;
      const isBeginning = Object.keys(arrival).length === 1;
      if (isBeginning) yield { id, text: undefined };
      else yield { id, text: JSON.stringify(await this.#answer(arrival, accepted, context)) };
    }
  }

  async #answer(arrival: Arrival, accepted: Accepted, context: Context): Promise<object> {
    const contextValue = new Context(context);
    const result: ExecutionResult = await execute({
      ...accepted,
      rootValue: arrival,
      contextValue,
    });
    if (result.errors === undefined) return result;
    const errors = result.errors.map((error) => this.#shown(error));
    // Better to end here, so that the client comes back for it, than to pass it by with holes in it.
    if (errors.some(({ extensions }) => extensions?.['code'] === 'IDEMPOTENCY_UNAVAILABLE')) {
      throw new Error('A message could not be read whole.', { cause: result.errors });
    }
    this.#count(errors);
    return { ...result, errors };
  }

  #refuse(reasons: readonly unknown[]): StreamAnswer {
    const errors = reasons.map((reason) => this.#shown(reason));
    this.#count(errors);
    return { status: STATUS_OF_CODE[String(errors[0]?.extensions?.['code'])] ?? 500, errors };
  }

  #shown(reason: unknown): GraphQLFormattedError {
    const error =
      reason instanceof GraphQLError
        ? reason
        : new GraphQLError('', { originalError: asError(reason) });
    // The coercion of variables gives its errors neither a code nor a path.
    const isOurs =
      error.extensions['code'] !== undefined || error.path !== undefined || error.originalError;
    const formatted = (isOurs ? error : coded(error, 'BAD_USER_INPUT')).toJSON();
    return shownError(formatted, error, this.#options);
  }

  #count(errors: readonly GraphQLFormattedError[]): void {
    for (const { extensions } of errors) this.#options.onRefused(String(extensions?.['code']));
  }
}

function parsed(query: string): DocumentNode {
  try {
    return parse(query, { maxTokens: DOCUMENT_LIMITS.tokens });
  } catch (error) {
    throw error instanceof GraphQLError ? coded(error, 'GRAPHQL_PARSE_FAILED') : error;
  }
}

function coded(error: GraphQLError, code: string): GraphQLError {
  const { message, nodes, source, positions, path, extensions } = error;
  return new GraphQLError(message, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    extensions: { ...extensions, code },
  });
}

const refused = (code: string, message: string) =>
  new GraphQLError(message, { extensions: { code } });

const asObject = (value: unknown) =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};

const asError = (reason: unknown) => (reason instanceof Error ? reason : new Error(String(reason)));
