import { z } from 'zod';
import type { Outcome } from '../../payments/index.ts';
import { fromStripe } from './amounts.ts';
import { declined, unknown } from './errors.ts';

/** Where our references stand in Stripe's books. */
export const ENTRY = 'semel_entry';
export const CAPTURE = 'semel_capture';

const id = z.string().min(1).max(255);
const amount = z.int().nonnegative();
const currency = z.string().regex(/^[a-z]{3}$/);
const metadata = z.record(z.string(), z.string()).default({});
const decline = z.object({ code: z.string().nullish(), decline_code: z.string().nullish() });

const intentSchema = z.object({
  id,
  object: z.literal('payment_intent'),
  status: z.string(),
  amount,
  amount_received: amount.default(0),
  currency,
  capture_method: z.string().optional(),
  cancellation_reason: z.string().nullish(),
  metadata,
  last_payment_error: decline.nullish(),
  next_action: z
    .object({ redirect_to_url: z.object({ url: z.url({ protocol: /^https?$/ }).max(2_000) }) })
    .nullish()
    .catch(undefined),
  /** Expanded where we ask for it: until when the card's bank holds the money, in s since 1970. */
  latest_charge: z
    .object({
      status: z.string(),
      payment_method_details: z
        .object({ card: z.object({ capture_before: z.int() }) })
        .optional()
        .catch(undefined),
    })
    .optional()
    .catch(undefined),
});
export type Intent = z.output<typeof intentSchema>;

const refundSchema = z.object({
  id,
  object: z.literal('refund'),
  status: z.string(),
  amount,
  currency,
  metadata,
  failure_reason: z.string().nullish(),
});

export const readIntent = (body: unknown): Intent | undefined => intentSchema.safeParse(body).data;

/** A PaymentIntent → what became of the charge or authorisation that it was made for. */
export function outcomeOfIntent(intent: Intent): Outcome {
  const manual = intent.capture_method === 'manual';
  switch (intent.status) {
    case 'succeeded':
      return succeeded(intent, manual ? intent.amount : intent.amount_received);
    case 'requires_capture':
      return succeeded(intent, intent.amount, { authorizedUntil: captureBefore(intent) });
    case 'processing':
    case 'requires_confirmation':
      return { kind: 'pending', pspReference: intent.id };
    case 'requires_action': {
      const nextActionUrl = intent.next_action?.redirect_to_url.url;
      const pending = { kind: 'pending', pspReference: intent.id } as const;
      return nextActionUrl === undefined ? pending : { ...pending, nextActionUrl };
    }
    case 'requires_payment_method':
      if (intent.last_payment_error == null) break;
      return declined(intent.id, intent.last_payment_error);
    case 'canceled':
      if (manual && intent.latest_charge?.status === 'succeeded') {
        return succeeded(intent, intent.amount, { expired: true });
      }
      return declined(intent.id, { code: 'canceled' });
    default:
  }
  return unknown('PSP state not known');
}

/** A PaymentIntent after our capture; undefined if it has not been captured by it. */
export function outcomeOfCapture(intent: Intent, reference: string): Outcome | undefined {
  if (intent.status !== 'succeeded' || intent.metadata[CAPTURE] !== reference) return undefined;
  return succeeded(intent, intent.amount_received);
}

/** A PaymentIntent after our void; undefined if the money is still held. */
export function outcomeOfVoid(intent: Intent): Outcome | undefined {
  return intent.status === 'canceled' ? succeeded(intent, intent.amount) : undefined;
}

/** A Refund → what became of it; undefined if it is not the one with our reference. */
export function outcomeOfRefund(body: unknown, reference: string): Outcome | undefined {
  const refund = refundSchema.safeParse(body).data;
  if (refund === undefined) return unknown('unreadable answer');
  if (refund.metadata[ENTRY] !== reference) return undefined;
  switch (refund.status) {
    case 'succeeded':
      return succeeded(refund, refund.amount);
    case 'pending':
    case 'requires_action':
      return { kind: 'pending', pspReference: refund.id };
    case 'failed':
    case 'canceled':
      return declined(refund.id, { code: refund.failure_reason ?? refund.status });
    default:
      return unknown('PSP state not known');
  }
}

function succeeded(
  from: { readonly id: string; readonly currency: string },
  stripeAmount: number,
  more: { authorizedUntil?: Date | undefined; expired?: boolean } = {},
): Outcome {
  const { id: pspReference } = from;
  const code = from.currency.toUpperCase();
  const amountMinor = minorOf(stripeAmount, code);
  if (amountMinor === undefined) return unknown('unreadable amount');
  const { authorizedUntil, ...rest } = more;
  const until = authorizedUntil === undefined ? {} : { authorizedUntil };
  return { kind: 'succeeded', pspReference, amountMinor, currency: code, ...until, ...rest };
}

function minorOf(stripeAmount: number, code: string): number | undefined {
  try {
    return fromStripe(stripeAmount, code);
  } catch {
    return undefined;
  }
}

function captureBefore(intent: Intent): Date | undefined {
  const seconds = intent.latest_charge?.payment_method_details?.card.capture_before;
  return seconds === undefined ? undefined : new Date(seconds * 1_000);
}
