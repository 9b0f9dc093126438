import { validate as isUuid } from 'uuid';
import { z } from 'zod';
import type {
  MutationCapturePaymentArgs,
  MutationConfirmPaymentArgs,
  MutationRefundPaymentArgs,
  MutationVoidPaymentArgs,
} from '../../generated/resolvers.ts';
import { readFingerprint } from '../../idempotency/index.ts';
import {
  type FollowUp,
  type FollowUpOperation,
  followUp,
  type PaymentAnswer,
} from '../../payments/index.ts';
import type { Answered } from '../answered.ts';
import { type Context, merchantOf } from '../context.ts';
import { fromGlobalId } from '../global-id.ts';
import type { IdempotentCall } from '../idempotent.ts';
import { badInput } from '../refusals.ts';
import { work } from '../work.ts';
import { concluded } from './ended.ts';

const shape = z.object({
  input: z.object({
    paymentId: z.string().max(255),
    expectedVersion: z.int().min(1).optional(),
    reason: z.string().min(1).max(1_000).optional(),
  }),
});

/** What is looked for where the id is none of ours: nobody has such a payment. */
const NOBODYS = '00000000-0000-0000-0000-000000000000';

/**
 * The rules of the input that need no state, before the key is claimed.
 *
 * @throws BAD_USER_INPUT naming the argument
 */
export function checkFollowUp({ args }: IdempotentCall<Context>): void {
  const checked = shape.safeParse(args);
  if (checked.success) return;
  const [issue] = checked.error.issues;
  throw badInput(issue?.path.join('.') ?? 'input', `is not acceptable: ${issue?.message}`);
}

export const capturePayment = mutation<MutationCapturePaymentArgs>('CAPTURE');
export const voidPayment = mutation<MutationVoidPaymentArgs>('VOID');
export const confirmPayment = mutation<MutationConfirmPaymentArgs>('CONFIRM');
export const refundPayment = mutation<MutationRefundPaymentArgs>('REFUND');

type Args = Omit<MutationCapturePaymentArgs, 'input'> & {
  readonly input: Partial<MutationCapturePaymentArgs['input']> & { readonly paymentId: string };
};

/** A mutation that does one thing to a payment: arguments → command → use case → the engine's words. */
function mutation<A extends Args>(operation: FollowUpOperation) {
  return work<unknown, A, Context, PaymentAnswer, Answered>(
    async (_source, { idempotencyKey, input }, context, _info, fingerprint) => {
      const asked: FollowUp = {
        ...identified(input.paymentId),
        merchantId: merchantOf(context),
        idempotencyKey,
        operation,
        psp: context.services.psp.name,
        fingerprint: readFingerprint(fingerprint),
        amountMinor: input.amount?.amountMinor ?? null,
        currency: input.amount?.currency ?? null,
        expectedVersion: input.expectedVersion ?? null,
        request: withoutNulls(input),
      };
      return concluded(context, followUp(context.services, asked));
    },
  );
}

function identified(globalId: string): { paymentId: string } {
  const id = fromGlobalId('Payment', globalId);
  return { paymentId: id !== undefined && isUuid(id) ? id : NOBODYS };
}

/** As arguments are compared: null equals omitted. */
function withoutNulls(input: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== null && value !== undefined),
  );
}
