import { readFileSync } from 'node:fs';
import { getDirective, MapperKind, mapSchema } from '@graphql-tools/utils';
import {
  defaultFieldResolver,
  type GraphQLFieldConfig,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  isNonNullType,
} from 'graphql';
import {
  type Ending,
  fingerprint,
  type How,
  type Intent,
  Once,
  type OnceOptions,
  type Result,
  readFingerprint,
} from '../idempotency/index.ts';
import { type Arguments, checkTexts, normalised, withoutDefaults } from './arguments.ts';
import { fileInPackage } from './package-files.ts';
import {
  type Difference,
  inProgress,
  keyInvalid,
  keyReused,
  outcomeUnknown,
  unavailable,
} from './refusals.ts';
import { textProblem } from './text.ts';
import { type FieldWork, resultOf } from './work.ts';

/** The directive's own definition, to be added to the type definitions of any schema. */
export const idempotentTypeDefs: string = readFileSync(
  fileInPackage('schema/idempotent.graphql'),
  'utf8',
);

/** What the key did for one request; `present` may put it into the payload. */
export interface Receipt {
  readonly key: string;
  readonly how: How;
}

/** One call of a mutation field that carries the directive. */
export interface IdempotentCall<Context> {
  readonly field: string;
  /** Coerced and normalised, without the key. */
  readonly args: Arguments;
  readonly intent: Intent;
  readonly fingerprint: string;
  readonly context: Context;
}

export interface IdempotencyOptions<Context>
  extends Partial<Omit<OnceOptions, 'store'>>,
    Pick<OnceOptions, 'store'> {
  /** Who owns the key: keys of two scopes never meet. A merchant, a tenant, a user. */
  readonly scope: (context: Context) => string;
  /** The key as an HTTP header gave it, if one did; it must equal the argument. */
  readonly headerKey?: (context: Context) => string | undefined;
  /** Called before the key is claimed; what it throws leaves no trace of the key. */
  readonly check?: (call: IdempotentCall<Context>) => void;
  /** What a journal has under the key, without doing anything; asked while others hold the key. */
  readonly look?: (call: IdempotentCall<Context>) => Promise<Result<unknown> | undefined>;
  /** How a request with a used key differs from the first one. */
  readonly explain?: (call: IdempotentCall<Context>) => Promise<Difference | undefined>;
  /** Makes the field's value of the answer; by default the answer is the value. */
  readonly present?: (answer: unknown, receipt: Receipt) => unknown;
  /** Told how each call ended; it must not throw. */
  readonly onEnding?: (ending: Ending<unknown>, call: IdempotentCall<Context>) => void;
}

/** Long enough for a slow resolver; a claim whose process died is free again after this time. */
const DEFAULTS = {
  leaseMs: 60_000,
  answerTtlMs: 86_400_000,
  joinWaitMs: 5_000,
  journaled: false,
} as const;
/** A lease may last long; most work ends well before it. */
const MOST_RETRY_AFTER_MS = 2_000;
const KEY = /^[\x21-\x7e]{1,255}$/;

interface DirectiveArguments {
  readonly keyArg: string;
  readonly onInFlight: 'JOIN' | 'REFUSE';
  readonly answerTtl?: number;
}

/**
 * Makes every mutation field that carries `@idempotent` happen once for each key. Works on any
 * executable schema.
 *
 * @throws TypeError if a field carries the directive that cannot: not on the mutation root, or its
 *   key argument is missing or nullable
 */
export function withIdempotency<Context>(
  schema: GraphQLSchema,
  options: IdempotencyOptions<Context>,
): GraphQLSchema {
  const once = new Once({ ...DEFAULTS, ...options });
  const root = schema.getMutationType()?.name;
  return mapSchema(schema, {
    [MapperKind.OBJECT_FIELD]: (config, field, type) => {
      const [directive] = getDirective(schema, config, 'idempotent') ?? [];
      if (directive === undefined) return undefined;
      const args = directive as DirectiveArguments;
      refuseMisuse(config, `${type}.${field}`, type === root, args);
      return { ...config, resolve: resolver(once, options, field, config, args) };
    },
  });
}

function refuseMisuse(
  config: GraphQLFieldConfig<unknown, unknown>,
  where: string,
  onMutationRoot: boolean,
  { keyArg, answerTtl }: DirectiveArguments,
): void {
  if (!onMutationRoot)
    throw new TypeError(`@idempotent on ${where}: only mutation fields run once.`);
  const key = config.args?.[keyArg];
  if (key === undefined) throw new TypeError(`@idempotent on ${where}: no argument "${keyArg}".`);
  if (!isNonNullType(key.type)) {
    throw new TypeError(`@idempotent on ${where}: the argument "${keyArg}" must be non-null.`);
  }
  if (answerTtl !== undefined && answerTtl < 1) {
    throw new TypeError(`@idempotent on ${where}: answerTtl must be at least 1 second.`);
  }
}

function resolver<Context>(
  once: Once,
  options: IdempotencyOptions<Context>,
  field: string,
  config: GraphQLFieldConfig<unknown, Context>,
  { keyArg, onInFlight, answerTtl }: DirectiveArguments,
): GraphQLFieldResolver<unknown, Context, Record<string, unknown>> {
  const resolve = (config.resolve ?? defaultFieldResolver) as FieldWork<Context>;
  return async (source, rawArgs, context, info) => {
    const definitions = info.parentType.getFields()[field]?.args ?? [];
    const key = checkedKey(rawArgs[keyArg], keyArg, options.headerKey?.(context));
    const others = definitions.filter(({ name }) => name !== keyArg);
    const args = normalised(rawArgs, others);
    checkTexts(args, '');
    const print = fingerprint(field, withoutDefaults(args, others));
    const intent = { scope: options.scope(context), key };
    const call: IdempotentCall<Context> = { field, args, intent, fingerprint: print, context };
    options.check?.(call);
    const ending = await once.run({
      intent,
      fingerprint: print,
      onInFlight,
      answerTtlMs: answerTtl === undefined ? undefined : answerTtl * 1_000,
      work: async () => resultOf(await resolve(source, rawArgs, context, info, print)),
      look: async () => options.look?.(call),
    });
    options.onEnding?.(ending, call);
    return value(ending, call, options);
  };
}

function checkedKey(key: unknown, keyArg: string, header: string | undefined): string {
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw keyInvalid(`The argument "${keyArg}" must be 1 to 255 visible ASCII characters.`);
  }
  const problem = textProblem(key);
  if (problem !== undefined) throw keyInvalid(`The argument "${keyArg}" ${problem}.`);
  if (header !== undefined && header !== key) {
    throw keyInvalid(`The header Idempotency-Key and the argument "${keyArg}" differ.`);
  }
  return key;
}

async function value<Context>(
  ending: Ending<unknown>,
  call: IdempotentCall<Context>,
  options: IdempotencyOptions<Context>,
): Promise<unknown> {
  switch (ending.kind) {
    case 'answered': {
      const receipt = { key: call.intent.key, how: ending.how };
      return options.present === undefined
        ? ending.answer
        : options.present(ending.answer, receipt);
    }
    case 'busy':
      throw inProgress(Math.min(ending.retryAfterMs, MOST_RETRY_AFTER_MS));
    case 'unavailable':
      throw unavailable(ending.retryAfterMs);
    case 'unknown':
      throw outcomeUnknown();
    case 'mismatch': {
      const { operation } = readFingerprint(ending.fingerprint);
      const reason = operation === call.field ? 'PAYLOAD' : 'OPERATION';
      throw keyReused((await options.explain?.(call)) ?? { reason, paths: [] });
    }
  }
}
