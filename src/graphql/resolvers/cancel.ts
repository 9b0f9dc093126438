import { z } from 'zod';
import type { MutationCancelByIdempotencyKeyArgs } from '../../generated/resolvers.ts';
import { readFingerprint } from '../../idempotency/index.ts';
import { cancelIntent, type PaymentAnswer } from '../../payments/index.ts';
import type { Answered } from '../answered.ts';
import { type Context, merchantOf } from '../context.ts';
import type { IdempotentCall } from '../idempotent.ts';
import { badInput } from '../refusals.ts';
import { work } from '../work.ts';
import { concluded } from './ended.ts';

const shape = z.object({ key: z.string().regex(/^[\x21-\x7e]{1,255}$/) });

/** @throws BAD_USER_INPUT if the key to be cancelled cannot be a key, or is the request's own */
export function checkCancel({ args, intent }: IdempotentCall<Context>): void {
  const { data } = shape.safeParse(args);
  if (data === undefined) throw badInput('key', 'must be 1 to 255 visible ASCII characters');
  if (data.key === intent.key) {
    throw badInput('key', 'must not be the idempotency key of this request itself');
  }
}

export const cancelByIdempotencyKey = work<
  unknown,
  MutationCancelByIdempotencyKeyArgs,
  Context,
  PaymentAnswer,
  Answered
>(async (_source, { key, idempotencyKey }, context, _info, fingerprint) => {
  const { services } = context;
  return concluded(
    context,
    cancelIntent(services, {
      merchantId: merchantOf(context),
      key,
      idempotencyKey,
      psp: services.psp.name,
      fingerprint: readFingerprint(fingerprint),
    }),
  );
});
