import { z } from 'zod';
import type { Charge, Found, Outcome, Psp } from '../payments/index.ts';
import { Breaker } from './breaker.ts';
import { exchange, type HttpCall } from './exchange.ts';
import { foundIn, outcomeOf } from './outcome.ts';
import { poolFor } from './pool.ts';
import { askAgainMs, milliseconds } from './settings.ts';
import { isSigningSecret, simulatorWebhooks } from './simulator-webhook.ts';
import type { ReadWebhook } from './webhook.ts';

/*
 * The simulator as a PSP.
 * Key window: 24 h from the first request; a repeat in it answers the first result. It can be told to
 * forget keys sooner, and so can this adapter.
 * Look-up: yes, by reference; an operation may be hidden for the settling time.
 * Means unknown: no answer, a lost connection, 3xx, 401, 403, 404, 409, 422, 5xx, and a 2xx whose
 * body is not a charge with our reference. Proof of no effect: no connection, 429.
 */
const KEY_WINDOW_MS = 86_400_000;
const SETTLING_MS = 5_000;

/** What a look-up of the simulator can be worth. */
export const LOOKUPS = ['lagging', 'final', 'none'] as const;

const settingsSchema = z
  .object({
    url: z.url({ protocol: /^https?$/ }),
    /** From the call to its answer, everything included. */
    timeoutMs: milliseconds,
    /** For one connection; undici measures it in steps of about half a second. */
    connectTimeoutMs: milliseconds.optional(),
    /** Charges under way at one time; the others wait for at most half of the deadline. */
    connections: z.int().positive().default(256),
    /** Look-ups have connections of their own: charges that hang cannot hold up recovery. */
    lookupConnections: z.int().positive().default(16),
    settlingMs: milliseconds.default(SETTLING_MS),
    askAgainMs,
    /** How long the simulator surely remembers keys; 0: it knows none. */
    keyWindowMs: z.int().min(0).max(KEY_WINDOW_MS).default(KEY_WINDOW_MS),
    /** `final`: what it misses after the settling time was never done; `none`: it shows nothing. */
    lookup: z.enum(LOOKUPS).default('lagging'),
    /** Any of them may have signed a webhook; without one webhooks are not read. */
    webhookSecrets: z
      .array(
        z.string().refine(isSigningSecret, 'must be base64, with or without the prefix whsec_'),
      )
      .default([]),
    breaker: z
      .object({ failures: z.int().positive(), openMs: milliseconds })
      .default({ failures: 5, openMs: 1_000 }),
  })
  .refine(({ timeoutMs, connectTimeoutMs = 1 }) => connectTimeoutMs <= timeoutMs, {
    path: ['connectTimeoutMs'],
    message: 'must not be longer than timeoutMs',
  });

export type SimulatorPspSettings = z.input<typeof settingsSchema>;

type SimulatorPsp = Psp & { close(): Promise<void>; readWebhook?: ReadWebhook };

/** Throws a ZodError that names the setting if one is not usable. */
export function createSimulatorPsp(given: SimulatorPspSettings): SimulatorPsp {
  const settings = settingsSchema.parse(given);
  const { origin, pathname } = new URL(settings.url);
  const prefix = pathname.replace(/\/$/, '');
  const charges = poolFor(origin, settings.connections, settings);
  const lookups = poolFor(origin, settings.lookupConnections, settings);
  const breaker = new Breaker(settings.breaker);
  const deadlineMs = settings.timeoutMs;

  async function send(order: Order, path: string, more: object): Promise<Outcome> {
    const call = orderCall(order, `${prefix}${path}`, more, deadlineMs);
    const reply = await breaker.run((onSent) => exchange(charges, call, onSent));
    if (reply.kind !== 'open') return outcomeOf(reply, order.reference);
    return { kind: 'notSent', reason: 'PSP not reachable', retryAfterMs: reply.retryAfterMs };
  }

  async function find(reference: string): Promise<Found> {
    if (settings.lookup === 'none') return { kind: 'none' };
    const path = `${prefix}/v1/operations?${new URLSearchParams({ reference })}`;
    const call: HttpCall = { method: 'GET', path, headers: {}, body: null, deadlineMs };
    return foundIn(await exchange(lookups, call), reference);
  }

  let closing: Promise<unknown> | undefined;
  return {
    name: 'simulator',
    keyWindowMs: settings.keyWindowMs,
    lookupIsFinal: settings.lookup === 'final',
    settlingMs: settings.settlingMs,
    askAgainMs: settings.askAgainMs,
    charge: ({ amountMinor, currency, paymentMethod, capture = true, ...order }) =>
      send(order, '/v1/charges', {
        amountMinor,
        currency,
        source: paymentMethod,
        capture,
        metadata: {},
      }),
    capture: ({ chargeReference, amountMinor, ...order }) =>
      send(order, `${pathOf(chargeReference)}/capture`, { amountMinor }),
    void: ({ chargeReference, ...order }) => send(order, `${pathOf(chargeReference)}/void`, {}),
    confirm: ({ chargeReference, ...order }) =>
      send(order, `${pathOf(chargeReference)}/confirm`, {}),
    refund: ({ chargeReference, amountMinor, ...order }) =>
      send(order, '/v1/refunds', { charge: chargeReference, amountMinor }),
    find,
    ...(settings.webhookSecrets.length > 0
      ? { readWebhook: simulatorWebhooks(settings.webhookSecrets) }
      : {}),
    close: async () => {
      closing ??= Promise.all([charges.close(), lookups.close()]);
      await closing;
    },
  };
}

type Order = Pick<Charge, 'reference' | 'pspKey'>;

const pathOf = (chargeReference: string) => `/v1/charges/${encodeURIComponent(chargeReference)}`;

/** The same bytes for the same order, whenever it is sent. */
function orderCall(
  { reference, pspKey }: Order,
  path: string,
  more: object,
  deadlineMs: number,
): HttpCall {
  return {
    method: 'POST',
    path,
    headers: { 'content-type': 'application/json', 'idempotency-key': pspKey },
    body: JSON.stringify({ reference, ...more }),
    deadlineMs,
  };
}
