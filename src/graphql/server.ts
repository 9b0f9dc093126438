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
import type { DocumentNode, GraphQLSchema } from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Context } from './context.ts';
import { authorise, checkForm, type ErrorOptions, shownError } from './gate.ts';
import { STATUS_OF_CODE } from './refusals.ts';
import { DOCUMENT_LIMITS, validationRules } from './rules.ts';

export interface GraphQLServerOptions extends ErrorOptions {
  readonly schema: GraphQLSchema;
  readonly introspection: boolean;
  /** Told of each error code that went out; it must not throw. */
  readonly onRefused: (code: string) => void;
}

/** An HTTP request as far as GraphQL is concerned. */
export interface GraphQLRequest {
  readonly method: string;
  /** The query string, with its question mark, or an empty text. */
  readonly search: string;
  readonly contentType: string | undefined;
  readonly accept: string;
  /** True if the request carries a header that no plain HTML form can send. */
  readonly preflighted: boolean;
  /** The parsed JSON body. */
  readonly body: unknown;
  readonly context: Context;
}

export interface GraphQLAnswer {
  readonly status: number;
  readonly headers: Iterable<readonly [string, string]>;
  readonly text: string;
}

const KNOWN_DOCUMENTS = 1_000;

/** Apollo Server, told what an HTTP request was and asked what to answer. */
export class GraphQLServer {
  readonly #apollo: ApolloServer<Context>;

  constructor(options: GraphQLServerOptions) {
    this.#apollo = new ApolloServer<Context>({
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
        gate(options.onRefused),
      ],
    });
  }

  start(): Promise<void> {
    return this.#apollo.start();
  }

  stop(): Promise<void> {
    return this.#apollo.stop();
  }

  async answer(request: GraphQLRequest): Promise<GraphQLAnswer> {
    const headers = new HeaderMap([['accept', request.accept]]);
    if (request.contentType !== undefined) headers.set('content-type', request.contentType);
    if (request.preflighted) headers.set('apollo-require-preflight', 'true');
    const answer = await this.#apollo.executeHTTPGraphQLRequest({
      httpGraphQLRequest: {
        method: request.method,
        headers,
        body: request.body,
        search: request.search,
      },
      context: async () => request.context,
    });
    if (answer.body.kind !== 'complete') throw new TypeError('Answers in parts are not served.');
    return { status: answer.status ?? 200, headers: answer.headers, text: answer.body.string };
  }
}

/** Who may run the operation, before anything runs; and what the status line says afterwards. */
function gate(onRefused: (code: string) => void): ApolloServerPlugin<Context> {
  return {
    requestDidStart: async () => ({
      didResolveOperation: async ({ operation, contextValue }) => {
        if (operation === undefined) return;
        authorise(operation, contextValue);
        checkForm(operation, contextValue);
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
  http.headers.set('cache-control', 'no-store');
  if (contextValue.replayed) http.headers.set('idempotent-replayed', 'true');
  if (body.kind !== 'single') return;
  const { errors, data } = body.singleResult;
  for (const { extensions } of errors ?? []) onRefused(String(extensions?.['code']));
  const extensions = errors?.[0]?.extensions;
  if (extensions === undefined || (data !== null && data !== undefined)) return;
  // Apollo's own word for errors before execution is 500; ours are in the table.
  if (http.status === undefined || http.status === 500) {
    http.status = STATUS_OF_CODE[String(extensions['code'])] ?? 500;
  }
  const retryAfterMs = extensions['retryAfterMs'];
  if (typeof retryAfterMs === 'number') {
    http.headers.set('retry-after', String(Math.ceil(retryAfterMs / 1_000)));
  }
}

/**
 * Documents with inlined values never come again: they may push out no more than this many. Of
 * requests that bring the same new document at once, the first checks it and the others wait a turn.
 */
function boundedDocuments() {
  const documents = new LRUCache<string, DocumentNode>({ max: KNOWN_DOCUMENTS });
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
