/** What an HTTP answer with a GraphQL body holds. */
export interface GraphQLBody {
  readonly data?: unknown;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions?: Readonly<Record<string, unknown>> | undefined;
  }[];
  readonly extensions?: unknown;
}

/** One try. */
export interface Try {
  readonly operationName: string;
  readonly query: string;
  /** What servers with trusted documents know the text by. */
  readonly documentId?: string | undefined;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** What came back: an answer, or none. */
export type Reply =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly retryAfterMs?: number | undefined;
      /** Undefined if the body is no GraphQL answer. */
      readonly body: GraphQLBody | undefined;
    }
  /** `unsent`: certain that nothing left this machine. */
  | { readonly kind: 'lost'; readonly cause: unknown; readonly unsent?: boolean };

/** Sends one try. What it throws counts as a lost answer. */
export type Transport = (attempt: Try) => Promise<Reply>;

type Headers = Readonly<Record<string, string>>;

/** As much of `fetch` as is used here. */
export type Fetch = (
  url: string,
  init: { method: string; headers: Headers; body: string; signal: AbortSignal },
) => Promise<{
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}>;

export interface Endpoint {
  readonly endpoint: string;
  /** Asked before every try, so that a fresh session token is used. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>) | undefined;
  readonly fetch?: Fetch | undefined;
  /** Sends the id of a document instead of its text (GraphQL over HTTP, "Persisted Documents"). */
  readonly trustedDocuments?: boolean | undefined;
}

/** GraphQL over HTTP. */
export function overFetch({ endpoint, headers, fetch, trustedDocuments }: Endpoint): Transport {
  return async ({ signal, query, documentId, ...request }) => {
    let own: Headers | undefined;
    try {
      own = typeof headers === 'function' ? await headers() : headers;
    } catch (cause) {
      return { kind: 'lost', cause, unsent: true };
    }
    const response = await (fetch ?? globalThis.fetch)(endpoint, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/graphql-response+json,application/json;q=0.9',
        ...own,
      },
      body: JSON.stringify({ ...(trustedDocuments ? { documentId } : { query }), ...request }),
      signal,
    });
    return {
      kind: 'answer',
      status: response.status,
      retryAfterMs: retryAfterMs(response.headers.get('retry-after'), Date.now()),
      body: readBody(await response.text()),
    };
  };
}

/** The body as a GraphQL answer, whatever its media type says: proxies change it. */
export function readBody(text: string): GraphQLBody | undefined {
  try {
    const body = Object(JSON.parse(text));
    return body.data || Array.isArray(body.errors) ? body : undefined;
  } catch {
    return undefined;
  }
}

/** `Retry-After` is a number of seconds or a date (RFC 9110 §10.2.3). */
export function retryAfterMs(header: string | null | undefined, now: number): number | undefined {
  if (!header) return undefined;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
