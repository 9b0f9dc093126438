import {
  ApolloServer,
  type ApolloServerPlugin,
  type GraphQLRequestContextWillSendResponse,
  HeaderMap,
} from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
  ApolloServerPluginSchemaReportingDisabled,
  ApolloServerPluginUsageReportingDisabled,
} from '@apollo/server/plugin/disabled';
import type { DocumentNode } from 'graphql';
import { LRUCache } from 'lru-cache';
import { type GraphQLAnswer, headOf } from './answer.ts';
import type { Context } from './context.ts';
import { authorise, checkForm, shownError } from './gate.ts';
import type { GraphQLRequest, GraphQLServerOptions } from './request.ts';
import { DOCUMENT_LIMITS, validationRules } from './rules.ts';

export interface ApolloOptions extends GraphQLServerOptions {
  /** Told of each operation that may run, with the text and the document it is of. */
  readonly onResolved?: (text: string, document: DocumentNode) => void;
}

const NEW_DOCUMENTS = 1_000;

/** Apollo Server, told what an HTTP request was and asked what to answer. */
export class Apollo {
  readonly #server: ApolloServer<Context>;

  constructor(options: ApolloOptions) {
    this.#server = new ApolloServer<Context>({
      schema: options.schema,
      introspection: options.introspection,
      hideSchemaDetailsFromClientErrors: options.hideSuggestions,
      includeStacktraceInErrorResponses: false,
      stopOnTerminationSignals: false,
      persistedQueries: false,
      allowBatchedHttpRequests: false,
      csrfPrevention: true,
      parseOptions: { maxTokens: DOCUMENT_LIMITS.tokens },
      validationRules,
      documentStore: boundedDocuments(),
      stringifyResult: JSON.stringify,
      formatError: (formatted, error) => shownError(formatted, error, options),
      plugins: [
        ApolloServerPluginCacheControlDisabled(),
        ApolloServerPluginInlineTraceDisabled(),
        ApolloServerPluginLandingPageDisabled(),
        ApolloServerPluginSchemaReportingDisabled(),
        ApolloServerPluginUsageReportingDisabled(),
        gate(options),
      ],
    });
  }

  start(): Promise<void> {
    return this.#server.start();
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  async answer(request: GraphQLRequest): Promise<GraphQLAnswer> {
    const headers = new HeaderMap([['accept', request.accept]]);
    if (request.contentType !== undefined) headers.set('content-type', request.contentType);
    if (request.preflighted) headers.set('apollo-require-preflight', 'true');
    const { method, body, search } = request;
    const answer = await this.#server.executeHTTPGraphQLRequest({
      httpGraphQLRequest: { method, headers, body, search },
      context: async () => request.context,
    });
    if (answer.body.kind !== 'complete') throw new TypeError('Answers in parts are not served.');
    return { status: answer.status ?? 200, headers: answer.headers, text: answer.body.string };
  }
}

/** Who may run the operation, before anything runs; and what the status line says afterwards. */
function gate({ onRefused, onResolved }: ApolloOptions): ApolloServerPlugin<Context> {
  return {
    requestDidStart: async () => ({
      didResolveOperation: async ({ operation, document, source, contextValue }) => {
        if (operation === undefined) return;
        authorise(operation, contextValue);
        checkForm(operation, contextValue);
        onResolved?.(source, document);
      },
      willSendResponse: async (request) => stamp(request, onRefused),
    }),
  };
}

function stamp(
  { response, contextValue }: GraphQLRequestContextWillSendResponse<Context>,
  onRefused: (code: string) => void,
): void {
  const { http, body } = response;
  const result = body.kind === 'single' ? body.singleResult : {};
  for (const { extensions } of result.errors ?? []) onRefused(String(extensions?.['code']));
  const head = headOf(result, contextValue);
  for (const [name, value] of head.headers) http.headers.set(name, value);
  // Apollo's own word for errors before execution is 500; ours are in the table.
  if (head.status !== 200 && (http.status === undefined || http.status === 500)) {
    http.status = head.status;
  }
}

/**
 * Documents with inlined values never come again: they may push out no more than this many. Of
 * requests that bring the same new document at once, the first checks it and the others wait a turn.
 */
function boundedDocuments() {
  const documents = new LRUCache<string, DocumentNode>({ max: NEW_DOCUMENTS });
  const beingChecked = new Set<string>();
  return {
    get: async (key: string) => {
      const known = documents.get(key);
      if (known !== undefined) return known;
      if (beingChecked.has(key)) {
        await new Promise((resolve) => setImmediate(resolve));
        return documents.get(key);
      }
      beingChecked.add(key);
      setImmediate(() => beingChecked.delete(key));
      return undefined;
    },
    set: async (key: string, document: DocumentNode) => {
      documents.set(key, document);
    },
    delete: async (key: string) => documents.delete(key),
  };
}
