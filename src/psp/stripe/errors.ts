import { Stripe } from 'stripe';
import { z } from 'zod';
import type { Outcome } from '../../payments/index.ts';
import { declineCode, retryAfterMs } from '../outcome.ts';
import { NoAnswer } from './http-client.ts';

/** Declines after which the same payment method may succeed later, by Stripe's decline codes. */
const SOFT: ReadonlySet<string> = new Set([
  'approve_with_id',
  'authentication_required',
  'card_velocity_exceeded',
  'insufficient_funds',
  'issuer_not_available',
  'processing_error',
  'reenter_transaction',
  'try_again_later',
  'withdrawal_count_limit_exceeded',
]);

/** A wrong key of ours stays wrong until somebody mends it. */
const CREDENTIALS_RETRY_MS = 60_000;
const withIntent = z.object({ id: z.string().min(1) });

export interface Decline {
  readonly code?: string | null | undefined;
  readonly decline_code?: string | null | undefined;
}

/** Stripe's two codes of a decline → ours. */
export function declined(pspReference: string | null, error: Decline): Outcome {
  const code = declineCode(error.decline_code ?? error.code);
  return { kind: 'declined', pspReference, declineCode: code, soft: SOFT.has(code) };
}

/**
 * Whatever the SDK threw → what it proves of the money. Total: what Stripe does not document as a
 * proof is `unknown`. The table is in docs/psps.md.
 */
export function outcomeOfError(error: unknown): Outcome {
  if (!(error instanceof Stripe.errors.StripeError)) return unknown('unreadable answer');
  const { detail, statusCode, rawType, code } = error;
  if ((detail as unknown) instanceof NoAnswer)
    return outcomeOfNoAnswer(detail as unknown as NoAnswer);
  if (code === 'lock_timeout' || code === 'idempotency_key_in_use') return unknown(code);
  if (rawType === ('idempotency_error' as string)) return unknown('key used with other parameters');
  switch (statusCode) {
    case 402:
      if (rawType !== 'card_error') break;
      return declined(withIntent.safeParse(error.payment_intent).data?.id ?? null, {
        code,
        decline_code: error.decline_code,
      });
    case 429: {
      const waitMs = retryAfterMs(error.headers?.['retry-after'] ?? null);
      return { kind: 'notSent', reason: 'rate limited by the PSP', retryAfterMs: waitMs };
    }
    case 401:
    case 403:
      if (rawType === undefined) break;
      return {
        kind: 'notSent',
        reason: 'the PSP refuses our credentials',
        retryAfterMs: CREDENTIALS_RETRY_MS,
      };
    case 400:
    case 404:
      if (rawType !== 'invalid_request_error') break;
      return { kind: 'rejected', code: declineCode(code ?? 'invalid_request') };
    default:
  }
  return unknown(
    statusCode === undefined ? 'unreadable answer' : `answered with status ${statusCode}`,
  );
}

/** Why a look-up told nothing. */
export function whyNot(error: unknown): string {
  const outcome = outcomeOfError(error);
  return 'reason' in outcome ? outcome.reason : 'the look-up was refused';
}

function outcomeOfNoAnswer({ sent, reason, retryAfterMs: waitMs }: NoAnswer): Outcome {
  return sent ? unknown(reason) : { kind: 'notSent', reason, retryAfterMs: waitMs };
}

export function unknown(reason: string): Outcome {
  return { kind: 'unknown', reason };
}
