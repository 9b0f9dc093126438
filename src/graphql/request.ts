import type { GraphQLSchema } from 'graphql';
import type { Context } from './context.ts';
import type { ErrorOptions } from './gate.ts';

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
  /** The parsed JSON body; undefined unless the request said that it is JSON. */
  readonly body: unknown;
  readonly context: Context;
}
