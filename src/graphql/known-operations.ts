import {
  type DocumentNode,
  type ExecutionResult,
  execute,
  type GraphQLError,
  type GraphQLFormattedError,
  getOperationAST,
  type OperationDefinitionNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import { type GraphQLAnswer, headOf } from './answer.ts';
import type { Context } from './context.ts';
import { authorise, checkForm, shownError } from './gate.ts';
import type { GraphQLRequest, GraphQLServerOptions } from './request.ts';

/** How many documents, and how many characters of them in all, are known. */
const MOST = { documents: 1_000, characters: 4_000_000 } as const;

/** A request in which there is nothing to be decided but what the operation answers. */
interface Plain {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>> | undefined;
  readonly operationName: string | undefined;
}

/**
 * Executes operations whose document has been parsed and validated before. Everything else is not
 * answered here, and neither is a request that anything is wrong with before it runs: then nothing has
 * run, and Apollo says what is wrong.
 */
export class KnownOperations {
  readonly #options: GraphQLServerOptions;
  readonly #documents = new LRUCache<string, DocumentNode>({
    max: MOST.documents,
    maxSize: MOST.characters,
    sizeCalculation: (_document, text) => text.length,
  });
  readonly #seen = new WeakSet<DocumentNode>();

  constructor(options: GraphQLServerOptions) {
    this.#options = options;
  }

  /**
   * Takes a document that may run into its memory when it comes for the second time: texts with
   * inlined values, which never do, push out no other.
   */
  learn(text: string, document: DocumentNode): void {
    if (this.#seen.has(document)) this.#documents.set(text, document);
    else this.#seen.add(document);
  }

  /** Undefined if the request is left to Apollo; then nothing has run. */
  async answer({ method, body, accept, context }: GraphQLRequest) {
    const plain = method === 'POST' ? plainRequest(body) : undefined;
    const document = plain && this.#documents.get(plain.query);
    if (plain === undefined || document === undefined) return undefined;
    const operation = getOperationAST(document, plain.operationName);
    if (operation === null || operation === undefined || !mayRun(operation, context)) {
      return undefined;
    }
    const result = await execute({
      schema: this.#options.schema,
      document,
      contextValue: context,
      variableValues: plain.variables,
      operationName: plain.operationName,
    });
    // Not even null: the variables were refused.
    return result.data === undefined ? undefined : this.#answerOf(result, accept, context);
  }

  #answerOf({ errors, data }: ExecutionResult, accept: string, context: Context): GraphQLAnswer {
    const shown = errors?.map((error) => shownError(formatted(error), error, this.#options));
    for (const { extensions } of shown ?? []) {
      this.#options.onRefused(String(extensions?.['code']));
    }
    const result = { ...(shown === undefined ? {} : { errors: shown }), data };
    const { status, headers } = headOf(result, context);
    headers.push(['content-type', `${accept}; charset=utf-8`]);
    return { status, headers, text: JSON.stringify(result) };
  }
}

/** What is not as GraphQL over HTTP has it, and what asks for more than an answer, is Apollo's. */
function plainRequest(body: unknown): Plain | undefined {
  if (!isRecord(body)) return undefined;
  const { query, variables = null, operationName = null, extensions = null } = body;
  if (typeof query !== 'string' || extensions !== null) return undefined;
  if (variables !== null && !isRecord(variables)) return undefined;
  if (operationName !== null && typeof operationName !== 'string') return undefined;
  return { query, variables: variables ?? undefined, operationName: operationName ?? undefined };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function mayRun(operation: OperationDefinitionNode, context: Context): boolean {
  try {
    authorise(operation, context);
    checkForm(operation, context);
    return true;
  } catch {
    return false;
  }
}

/** As Apollo does it, before `shownError` decides what of it is shown. */
function formatted(error: GraphQLError): GraphQLFormattedError {
  const code = error.extensions['code'] ?? 'INTERNAL_SERVER_ERROR';
  return { ...error.toJSON(), extensions: { ...error.extensions, code } };
}
