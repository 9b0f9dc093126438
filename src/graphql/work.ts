import type { GraphQLResolveInfo } from 'graphql';
import type { Result } from '../idempotency/index.ts';

/** A resolver that tells the engine more than a value: whether the outcome is known, for example. */
export type Work<Source, Args, Context, Answer> = (
  source: Source,
  args: Args,
  context: Context,
  info: GraphQLResolveInfo,
  fingerprint: string,
) => Promise<Result<Answer>>;

/** What such a resolver returns; the directive unwraps it, and nobody else sees it. */
class Concluded {
  readonly result: Result<unknown>;

  constructor(result: Result<unknown>) {
    this.result = result;
  }
}

/** What a field with the directive calls: a resolver, with the fingerprint as one more argument. */
export type FieldWork<Context> = (
  source: unknown,
  args: Readonly<Record<string, unknown>>,
  context: Context,
  info: GraphQLResolveInfo,
  fingerprint: string,
) => unknown;

/**
 * Makes a resolver of work, for a field that carries `@idempotent`. To the schema it looks like any
 * resolver of a `Value`; without the directive it refuses to run.
 */
export function work<Source, Args, Context, Answer, Value>(
  run: Work<Source, Args, Context, Answer>,
): (source: Source, args: Args, context: Context, info: GraphQLResolveInfo) => Promise<Value> {
  const resolver = async (...call: Parameters<typeof run>) => {
    if (call[4] === undefined) throw new TypeError('This resolver needs a field with @idempotent.');
    return new Concluded(await run(...call));
  };
  return resolver as unknown as (
    source: Source,
    args: Args,
    context: Context,
    info: GraphQLResolveInfo,
  ) => Promise<Value>;
}

/** What the engine is told of a resolver's value: what it concluded, or else that it is done. */
export function resultOf(value: unknown): Result<unknown> {
  if (value instanceof Concluded) return value.result;
  return { kind: 'done', first: true, answer: value };
}
