import { Stripe } from 'stripe';
import { z } from 'zod';
import type { Charge, FollowUpOrder, Outcome, Psp } from '../../payments/index.ts';
import { Breaker } from '../breaker.ts';
import { poolFor } from '../pool.ts';
import { askAgainMs, milliseconds } from '../settings.ts';
import type { ReadWebhook } from '../webhook.ts';
import { toStripe } from './amounts.ts';
import { outcomeOfError, unknown } from './errors.ts';
import { OneExchange } from './http-client.ts';
import { findAtStripe } from './look-up.ts';
import {
  CAPTURE,
  ENTRY,
  outcomeOfCapture,
  outcomeOfIntent,
  outcomeOfRefund,
  outcomeOfVoid,
  readIntent,
} from './objects.ts';
import { readStripeWebhook } from './webhook.ts';

/*
 * Stripe as a PSP: card PaymentIntents, confirmed as they are made.
 * Key window: 24 h; a repeat in it answers the first result, errors and 500s included.
 * Look-up: by the PaymentIntent's id if we have it; refunds by their PaymentIntent's list; else by a
 * search for our reference, which may lag by a minute. After the settling time recovery sends the
 * same request under the same key, which in the key window is Stripe's own answer to a lost answer.
 * Means unknown: a lost connection, idempotency_error, lock_timeout, 409, 5xx, what cannot be read.
 * Proof of no effect: no connection, 429, 401 and 403 in Stripe's own form.
 */
const KEY_WINDOW_MS = 86_400_000;
const SETTLING_MS = 60_000;
/** The release of the SDK and this version of the API belong together. */
const API_VERSION = '2026-10-28.endive';

const settingsSchema = z.object({
  secretKey: z.string().min(1),
  /** Where the API is, if not at Stripe. */
  apiBase: z.url({ protocol: /^https?$/ }).default('https://api.stripe.com'),
  /** From the call to its answer, everything included. */
  timeoutMs: milliseconds,
  /** Any of them may have signed a webhook, so that one can be replaced by the next. */
  webhookSecrets: z.array(z.string().min(1)).default([]),
  /** Where the buyer comes back to from the bank; without it no buyer is sent there. */
  returnUrl: z.url({ protocol: /^https?$/ }).optional(),
  connections: z.int().positive().default(256),
  lookupConnections: z.int().positive().default(16),
  settlingMs: milliseconds.default(SETTLING_MS),
  askAgainMs,
  breaker: z
    .object({ failures: z.int().positive(), openMs: milliseconds })
    .default({ failures: 5, openMs: 1_000 }),
});
export type StripePspSettings = z.input<typeof settingsSchema>;
type StripePsp = Psp & {
  close(): Promise<void>;
  readonly readWebhook?: ReadWebhook;
};

/** Throws a ZodError that names the setting if one is not usable. */
export function createStripePsp(given: StripePspSettings): StripePsp {
  const settings = settingsSchema.parse(given);
  const { origin } = new URL(settings.apiBase);
  const orders = poolFor(origin, settings.connections, settings);
  const lookups = poolFor(origin, settings.lookupConnections, settings);
  const breaker = new Breaker(settings.breaker);
  const stripe = new Stripe(settings.secretKey, {
    apiVersion: API_VERSION,
    httpClient: new OneExchange({ orders, lookups, breaker }),
    maxNetworkRetries: 0,
    telemetry: false,
    timeout: settings.timeoutMs,
  });
  let closing: Promise<unknown> | undefined;
  return {
    name: 'stripe',
    keyWindowMs: KEY_WINDOW_MS,
    settlingMs: settings.settlingMs,
    askAgainMs: settings.askAgainMs,
    charge: (order) => charge(stripe, order, settings.returnUrl),
    ...followUpsAt(stripe),
    find: (reference, sought) => findAtStripe(stripe, reference, sought, settings.timeoutMs),
    ...webhooksOf(stripe, settings.webhookSecrets),
    close: async () => {
      closing ??= Promise.all([orders.close(), lookups.close()]);
      await closing;
    },
  };
}

function webhooksOf(stripe: Stripe, secrets: readonly string[]): { readWebhook?: ReadWebhook } {
  if (secrets.length === 0) return {};
  return {
    readWebhook: (rawBody, headers) =>
      readStripeWebhook(stripe, rawBody, headers['stripe-signature'], secrets),
  };
}

function charge(stripe: Stripe, order: Charge, returnUrl: string | undefined): Promise<Outcome> {
  return inStripesUnits(order, (amount) =>
    told(
      stripe.paymentIntents.create(
        {
          amount,
          currency: order.currency.toLowerCase(),
          payment_method: order.paymentMethod,
          allowed_payment_method_types: ['card'],
          capture_method: order.capture === false ? 'manual' : 'automatic',
          confirm: true,
          confirmation_method: 'manual',
          metadata: { [ENTRY]: order.reference },
          expand: ['latest_charge'],
          ...(returnUrl === undefined ? {} : { return_url: returnUrl }),
        },
        { idempotencyKey: order.pspKey },
      ),
      (body) => {
        const intent = readIntent(body);
        return intent?.metadata[ENTRY] === order.reference ? outcomeOfIntent(intent) : undefined;
      },
    ),
  );
}

function followUpsAt(stripe: Stripe): Pick<Psp, 'capture' | 'void' | 'confirm' | 'refund'> {
  return {
    capture: (order) =>
      inStripesUnits(order, (amount) =>
        told(
          stripe.paymentIntents.capture(
            order.chargeReference,
            { amount_to_capture: amount, metadata: { [CAPTURE]: order.reference } },
            { idempotencyKey: order.pspKey },
          ),
          (body) => ifIntent(body, order, (intent) => outcomeOfCapture(intent, order.reference)),
        ),
      ),
    void: (order) =>
      told(
        stripe.paymentIntents.cancel(order.chargeReference, {}, { idempotencyKey: order.pspKey }),
        (body) => ifIntent(body, order, outcomeOfVoid),
      ),
    confirm: (order) =>
      told(
        stripe.paymentIntents.confirm(
          order.chargeReference,
          { expand: ['latest_charge'] },
          { idempotencyKey: order.pspKey },
        ),
        (body) => ifIntent(body, order, outcomeOfIntent),
      ),
    refund: (order) =>
      inStripesUnits(order, (amount) =>
        told(
          stripe.refunds.create(
            {
              payment_intent: order.chargeReference,
              amount,
              metadata: { [ENTRY]: order.reference },
            },
            { idempotencyKey: order.pspKey },
          ),
          (body) => outcomeOfRefund(body, order.reference),
        ),
      ),
  };
}

/** What Stripe's units cannot say is not sent. */
async function inStripesUnits(
  money: Charge | FollowUpOrder,
  send: (amount: number) => Promise<Outcome>,
): Promise<Outcome> {
  const amount = toStripe(money);
  return amount === undefined
    ? { kind: 'rejected', code: 'amount_not_representable' }
    : send(amount);
}

function ifIntent(
  body: unknown,
  { chargeReference }: FollowUpOrder,
  read: (intent: NonNullable<ReturnType<typeof readIntent>>) => Outcome | undefined,
): Outcome | undefined {
  const intent = readIntent(body);
  return intent?.id === chargeReference ? read(intent) : undefined;
}

/** Waits for one answer and reads it; what is not about what we asked for is unknown. */
async function told(
  answer: Promise<unknown>,
  read: (body: unknown) => Outcome | undefined,
): Promise<Outcome> {
  try {
    return read(await answer) ?? unknown('answer about something else');
  } catch (error) {
    return outcomeOfError(error);
  }
}
