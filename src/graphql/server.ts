import type { GraphQLSchema } from 'graphql';
import type { GraphQLAnswer } from './answer.ts';
import { Apollo } from './apollo.ts';
import type { Context } from './context.ts';
import type { ErrorOptions } from './gate.ts';
import { KnownOperations } from './known-operations.ts';

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

/**
 * Every answer is Apollo Server's. What it has checked before and would only execute is executed here
 * at once, with the same answer at half the cost (see `known-operations.ts`).
 */
export class GraphQLServer {
  readonly #apollo: Apollo;
  readonly #known: KnownOperations;

  constructor(options: GraphQLServerOptions) {
    this.#known = new KnownOperations(options);
    this.#apollo = new Apollo({
      ...options,
      onResolved: (text, document) => this.#known.learn(text, document),
    });
  }

  start(): Promise<void> {
    return this.#apollo.start();
  }

  stop(): Promise<void> {
    return this.#apollo.stop();
  }

  async answer(request: GraphQLRequest): Promise<GraphQLAnswer> {
    return (await this.#known.answer(request)) ?? this.#apollo.answer(request);
  }
}
