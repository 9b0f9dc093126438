import type { Stripe } from 'stripe';
import type { Outcome } from '../../payments/index.ts';
import {
  CAPTURE,
  ENTRY,
  type Intent,
  outcomeOfCapture,
  outcomeOfIntent,
  outcomeOfRefund,
  readIntent,
} from './objects.ts';

/** What came to the webhook's address, once its signature has been judged. */
export type StripeWebhook =
  | {
      readonly kind: 'event';
      readonly eventId: string;
      readonly type: string;
      /** Our reference: the id of a journal entry. */
      readonly reference: string;
      readonly outcome: Outcome;
    }
  | { readonly kind: 'forged' }
  /** Signed by Stripe, and not about a journal entry of ours. */
  | { readonly kind: 'ignored'; readonly eventId: string };

/** A signature older than this is a replay, in s; Stripe signs each delivery anew. */
const TOLERANCE_S = 300;

/** Judges `Stripe-Signature` over the raw bytes with any of the secrets; undefined if forged or old. */
export function verifyStripeEvent(
  stripe: Stripe,
  rawBody: string,
  signature: string | undefined,
  secrets: readonly string[],
  toleranceS: number = TOLERANCE_S,
): Stripe.Event | undefined {
  for (const secret of secrets) {
    try {
      return stripe.webhooks.constructEvent(rawBody, signature ?? '', secret, toleranceS);
    } catch {
      // Another secret may have signed it.
    }
  }
  return undefined;
}

/** A webhook's raw body and `Stripe-Signature` header → the news of one journal entry. */
export function readStripeWebhook(
  stripe: Stripe,
  rawBody: string,
  signature: string | undefined,
  secrets: readonly string[],
): StripeWebhook {
  const event = verifyStripeEvent(stripe, rawBody, signature, secrets);
  if (event === undefined) return { kind: 'forged' };
  const { id: eventId, type } = event;
  const news = newsIn(event.data?.object);
  return news === undefined
    ? { kind: 'ignored', eventId }
    : { kind: 'event', eventId, type, ...news };
}

function newsIn(object: unknown): { reference: string; outcome: Outcome } | undefined {
  const intent = readIntent(object);
  if (intent !== undefined) return newsOfIntent(intent);
  const reference = referenceIn(object);
  if (reference === undefined) return undefined;
  const outcome = outcomeOfRefund(object, reference);
  return outcome === undefined || outcome.kind === 'unknown' ? undefined : { reference, outcome };
}

/** Once captured, a PaymentIntent's amount is that of its capture. */
function newsOfIntent(intent: Intent): { reference: string; outcome: Outcome } | undefined {
  const capture = intent.metadata[CAPTURE];
  const captured = capture === undefined ? undefined : outcomeOfCapture(intent, capture);
  if (capture !== undefined && captured !== undefined) {
    return { reference: capture, outcome: captured };
  }
  const reference = intent.metadata[ENTRY];
  // Whether a cancelled one had held money is not in an event: its void or expiry is looked up.
  if (reference === undefined || intent.status === 'canceled') return undefined;
  const outcome = outcomeOfIntent(intent);
  return outcome.kind === 'unknown' ? undefined : { reference, outcome };
}

function referenceIn(object: unknown): string | undefined {
  const metadata = (object as { metadata?: Record<string, unknown> } | null)?.metadata;
  const reference = metadata?.[ENTRY];
  return typeof reference === 'string' ? reference : undefined;
}
