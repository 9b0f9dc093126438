import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeExecutableSchema } from '@graphql-tools/schema';
import type { GraphQLSchema } from 'graphql';
import type { OnceOptions } from '../idempotency/index.ts';
import type { Answered } from './answered.ts';
import { type Context, merchantOf } from './context.ts';
import { type IdempotentCall, type Receipt, withIdempotency } from './idempotent.ts';
import { fileInPackage } from './package-files.ts';
import { checkCancel } from './resolvers/cancel.ts';
import { checkCreatePayment } from './resolvers/create-payment.ts';
import { look } from './resolvers/ended.ts';
import { explain } from './resolvers/explain.ts';
import { checkFollowUp } from './resolvers/follow-up.ts';
import { resolvers } from './resolvers/index.ts';

export type SchemaOptions = Omit<OnceOptions, 'journaled'> & {
  /** Told how each money mutation ended, by the word of the metric. */
  readonly onEnding?: (ending: string) => void;
};

const CHECKS: Readonly<Record<string, (call: IdempotentCall<Context>) => void>> = {
  createPayment: checkCreatePayment,
  capturePayment: checkFollowUp,
  voidPayment: checkFollowUp,
  refundPayment: checkFollowUp,
  confirmPayment: checkFollowUp,
  cancelByIdempotencyKey: checkCancel,
};

/** Semel's own schema: the files in `schema/`, the resolvers, and the directive enforced. */
export function buildSchema({ onEnding, ...once }: SchemaOptions): GraphQLSchema {
  const schema = makeExecutableSchema<Context>({ typeDefs: readTypeDefs(), resolvers });
  return withIdempotency<Context>(schema, {
    ...once,
    journaled: true,
    scope: merchantOf,
    headerKey: ({ idempotencyKeyHeader }) => idempotencyKeyHeader,
    check: (call) => CHECKS[call.field]?.(call),
    look,
    explain,
    present: (answer, receipt: Receipt) => ({ ...(answer as object), receipt }) as Answered,
    onEnding: (ending, { context }) => {
      const how = ending.kind === 'answered' ? ending.how : undefined;
      if (how === 'REPLAYED' || how === 'JOINED') context.replayed = true;
      if (how !== undefined) onEnding?.(how.toLowerCase());
    },
  });
}

function readTypeDefs(): string[] {
  const folder = fileInPackage('schema');
  return readdirSync(folder)
    .filter((name) => name.endsWith('.graphql'))
    .sort()
    .map((name) => readFileSync(join(folder, name), 'utf8'));
}
