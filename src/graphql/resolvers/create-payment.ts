import { z } from 'zod';
import type { CreatePaymentInput, MutationCreatePaymentArgs } from '../../generated/resolvers.ts';
import { NotExecuted, type Result, readFingerprint } from '../../idempotency/index.ts';
import {
  createPayment as create,
  type Ended,
  lookUpPayment,
  type NewPayment,
  NothingSent,
  type PaymentAnswer,
  type Recorded,
} from '../../payments/index.ts';
import type { Answered } from '../answered.ts';
import { type Arguments, checkNumbers, differingPaths } from '../arguments.ts';
import { type Context, merchantOf } from '../context.ts';
import type { IdempotentCall } from '../idempotent.ts';
import { badInput, type Difference } from '../refusals.ts';
import { work } from '../work.ts';

const FIELD = 'createPayment';
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
  const ended = await unlessNothingSent(
    create(context.services, command(context, idempotencyKey, input, fingerprint)),
  );
  if ('answer' in ended && ended.payment !== null) {
    context.payments.prime(ended.payment.id, ended.payment);
  }
  return result(ended);
});

/** What the journal has of a payment that another request is making. */
export async function lookForPayment(call: IdempotentCall<Context>) {
  const { args, intent, context, fingerprint } = call;
  const asked = command(context, intent.key, args['input'] as CreatePaymentInput, fingerprint);
  const ended = await lookUpPayment(context.services.reader, asked);
  return ended === undefined ? undefined : result(ended);
}

/** The use case's proof that nothing was sent is the engine's proof that nothing happened. */
async function unlessNothingSent<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NothingSent) throw new NotExecuted(error.message, { cause: error.cause });
    throw error;
  }
}

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
    fingerprint: readFingerprint(fingerprint),
    amountMinor: input.amount.amountMinor,
    currency: input.amount.currency,
    paymentMethod: input.paymentMethod,
    transactionId: input.transactionId ?? null,
    description: input.description ?? null,
    metadata: input.metadata ?? null,
  };
}

function result(ended: Ended): Result<PaymentAnswer> {
  switch (ended.kind) {
    case 'done':
      return { kind: 'done', answer: ended.answer, first: ended.first };
    case 'open':
    case 'released':
      return { kind: ended.kind, answer: ended.answer };
    case 'busy':
      return ended;
    case 'mismatch':
      return { kind: 'mismatch', fingerprint: storedFingerprint(ended) };
  }
}

function storedFingerprint({ entry }: Recorded): string {
  const digest = entry.fingerprint.toString('base64url');
  return `${entry.fingerprintVersion}:${fieldOf(entry.operation)}:${digest}`;
}

/** The mutation field whose keys such entries hold. */
export function fieldOf(operation: Recorded['entry']['operation']): string {
  switch (operation) {
    case 'CHARGE':
    case 'AUTHORIZE':
      return FIELD;
    case 'CAPTURE':
      return 'capturePayment';
    case 'VOID':
      return 'voidPayment';
    case 'REFUND':
      return 'refundPayment';
  }
}

/** Where a request with a used key differs from the first one, as the journal has that. */
export async function explain({
  field,
  args,
  intent,
  context,
}: IdempotentCall<Context>): Promise<Difference | undefined> {
  const { reader } = context.services;
  const first = await reader.entryByKey(intent.scope, intent.key).catch(() => undefined);
  if (first === undefined) return undefined;
  if (fieldOf(first.entry.operation) !== field) return { reason: 'OPERATION', paths: [] };
  return { reason: 'PAYLOAD', paths: differingPaths(args, firstArguments(first)) };
}

function firstArguments({ entry, payment }: Recorded): Arguments {
  const { amountMinor, currency } = entry;
  const { paymentMethod, transactionId, description, metadata } = payment;
  return {
    input: {
      amount: { amountMinor, currency },
      paymentMethod,
      ...(transactionId === null ? {} : { transactionId }),
      ...(description === null ? {} : { description }),
      ...(metadata === null ? {} : { metadata }),
    },
  };
}
