import { NotExecuted, type Result, readFingerprint } from '../../idempotency/index.ts';
import {
  type Ended,
  type JournalEntry,
  lookUpPayment,
  NothingSent,
  type PaymentAnswer,
  type Recorded,
} from '../../payments/index.ts';
import { type Context, merchantOf } from '../context.ts';
import type { IdempotentCall } from '../idempotent.ts';

/**
 * Runs a use case for a field with `@idempotent`: its ending in the engine's words. The payment as
 * just written need not be read again.
 */
export async function concluded(
  { payments }: Context,
  work: Promise<Ended>,
): Promise<Result<PaymentAnswer>> {
  const ended = await unlessNothingSent(work);
  if ('answer' in ended && ended.payment !== null) {
    payments.prime(ended.payment.id, ended.payment);
  }
  return resultOf(ended);
}

/** The use case's proof that nothing was sent is the engine's proof that nothing happened. */
export async function unlessNothingSent<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof NothingSent) throw new NotExecuted(error.message, { cause: error.cause });
    throw error;
  }
}

/** What the journal has under a key that another request holds. */
export async function look({
  intent,
  context,
  fingerprint,
}: IdempotentCall<Context>): Promise<Result<PaymentAnswer> | undefined> {
  const { reader, psp } = context.services;
  const ended = await lookUpPayment(reader, {
    merchantId: merchantOf(context),
    idempotencyKey: intent.key,
    fingerprint: readFingerprint(fingerprint),
    psp: psp.name,
  });
  return ended === undefined ? undefined : resultOf(ended);
}

/** An ending in the engine's words. */
export function resultOf(ended: Ended): Result<PaymentAnswer> {
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
  return `${entry.fingerprintVersion}:${fieldOf(entry)}:${digest}`;
}

const CANCEL = 'cancelByIdempotencyKey';

/** The mutation field whose key the entry holds. */
export function fieldOf({ operation, request }: Pick<JournalEntry, 'operation' | 'request'>) {
  if (request !== null && 'cancels' in request) return CANCEL;
  switch (operation) {
    case 'CHARGE':
    case 'AUTHORIZE':
      return 'createPayment';
    case 'CAPTURE':
      return 'capturePayment';
    case 'VOID':
      return 'voidPayment';
    case 'REFUND':
      return 'refundPayment';
    case 'CONFIRM':
      return 'confirmPayment';
    case 'CANCEL':
      return CANCEL;
    case 'REVERSE':
      throw new TypeError('No caller has the key of a reversal.');
  }
}
