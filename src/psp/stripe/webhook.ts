import type { Stripe } from 'stripe';
import type { PspEvent } from '../../payments/index.ts';
import type { Webhook } from '../webhook.ts';
import {
  CAPTURE,
  ENTRY,
  type Intent,
  outcomeOfCapture,
  outcomeOfIntent,
  outcomeOfRefund,
  outcomeOfVoid,
  readIntent,
} from './objects.ts';

type News = Pick<PspEvent, 'reference' | 'operation' | 'outcome'>;

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
): Webhook {
  const event = verifyStripeEvent(stripe, rawBody, signature, secrets);
  if (event === undefined) return { kind: 'forged' };
  const { id: eventId, type } = event;
  const news = newsIn(event.data?.object);
  return news === undefined
    ? { kind: 'ignored', eventId, type }
    : { kind: 'event', eventId, type, ...news };
}

function newsIn(object: unknown): News | undefined {
  const intent = readIntent(object);
  if (intent !== undefined) return newsOfIntent(intent);
  const reference = referenceIn(object);
  if (reference === undefined) return undefined;
  const outcome = outcomeOfRefund(object, reference);
  return outcome === undefined || outcome.kind === 'unknown' ? undefined : { reference, outcome };
}

/** Once captured, a PaymentIntent's amount is that of its capture. */
function newsOfIntent(intent: Intent): News | undefined {
  const capture = intent.metadata[CAPTURE];
  const captured = capture === undefined ? undefined : outcomeOfCapture(intent, capture);
  if (capture !== undefined && captured !== undefined) {
    return { reference: capture, outcome: captured };
  }
  const reference = intent.metadata[ENTRY];
  if (reference === undefined) return undefined;
  // Our void, if there is one, has come to its end. Whether another one had held money is not in an
  // event: that is looked up.
  const voided = outcomeOfVoid(intent);
  if (voided !== undefined) return { reference, operation: 'VOID', outcome: voided };
  const outcome = outcomeOfIntent(intent);
  return outcome.kind === 'unknown' ? undefined : { reference, outcome };
}

function referenceIn(object: unknown): string | undefined {
  const metadata = (object as { metadata?: Record<string, unknown> } | null)?.metadata;
  const reference = metadata?.[ENTRY];
  return typeof reference === 'string' ? reference : undefined;
}
