import { z } from 'zod';
import type { CreatePaymentInput, MutationCreatePaymentArgs } from '../../generated/resolvers.ts';
import { readFingerprint } from '../../idempotency/index.ts';
import {
  createPayment as create,
  type NewPayment,
  type PaymentAnswer,
} from '../../payments/index.ts';
import type { Answered } from '../answered.ts';
import { type Arguments, checkNumbers } from '../arguments.ts';
import { type Context, merchantOf } from '../context.ts';
import type { IdempotentCall } from '../idempotent.ts';
import { badInput } from '../refusals.ts';
import { work } from '../work.ts';
import { concluded } from './ended.ts';

const METADATA = { members: 50, name: 40, value: 500 } as const;

const shape = z.object({
  input: z.object({
    paymentMethod: z.string().min(1).max(255),
    transactionId: z.string().min(1).max(255).optional(),
    description: z.string().max(1_000).optional(),
    metadata: z.unknown().optional(),
  }),
});

/**
 * The rules of the input that need no state, before the key is claimed.
 *
 * @throws BAD_USER_INPUT naming the argument
 */
export function checkCreatePayment({ args }: IdempotentCall<Context>): void {
  const checked = shape.safeParse(args);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    throw badInput(issue?.path.join('.') ?? 'input', `is not acceptable: ${issue?.message}`);
  }
  const { metadata } = checked.data.input;
  if (metadata !== undefined) checkMetadata(metadata as Arguments);
}

function checkMetadata(metadata: Arguments): void {
  const path = 'input.metadata';
  checkNumbers(metadata, path);
  const members = Object.entries(metadata);
  if (members.length > METADATA.members) {
    throw badInput(path, `may have at most ${METADATA.members} members`);
  }
  for (const [name, value] of members) {
    const length = typeof value === 'string' ? value.length : JSON.stringify(value).length;
    if (name.length > METADATA.name) {
      throw badInput(path, `may have names of at most ${METADATA.name} characters`);
    }
    if (length > METADATA.value) {
      throw badInput(path, `may have values of at most ${METADATA.value} characters`);
    }
  }
}

/** The mutation: arguments → command → use case → the engine's words. */
export const createPayment = work<
  unknown,
  MutationCreatePaymentArgs,
  Context,
  PaymentAnswer,
  Answered
>(async (_source, { idempotencyKey, input }, context, _info, fingerprint) => {
  const asked = command(context, idempotencyKey, input, fingerprint);
  return concluded(context, create(context.services, asked));
});

function command(
  context: Context,
  idempotencyKey: string,
  input: CreatePaymentInput,
  fingerprint: string,
): NewPayment {
  return {
    merchantId: merchantOf(context),
    idempotencyKey,
    psp: context.services.psp.name,
    operation: input.captureMode === 'MANUAL' ? 'AUTHORIZE' : 'CHARGE',
    fingerprint: readFingerprint(fingerprint),
    amountMinor: input.amount.amountMinor,
    currency: input.amount.currency,
    paymentMethod: input.paymentMethod,
    transactionId: input.transactionId ?? null,
    description: input.description ?? null,
    metadata: input.metadata ?? null,
  };
}
