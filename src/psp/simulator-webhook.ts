import { Webhook as Verifier } from 'standardwebhooks';
import { z } from 'zod';
import { outcomeOfObject } from './outcome.ts';
import type { ReadWebhook, Webhook } from './webhook.ts';

const eventSchema = z.object({
  type: z.string().min(1),
  data: z.looseObject({ reference: z.string() }),
});
const EVENT_ID = /^[\x21-\x7e]{1,255}$/;

/** True of base64, with or without the prefix `whsec_`. */
export function isSigningSecret(secret: string): boolean {
  try {
    return new Verifier(secret) !== null;
  } catch {
    return false;
  }
}

/**
 * Reads webhooks of the simulator, which signs as Standard Webhooks does: `webhook-id`, the time (at
 * most 5 minutes off) and the raw body, with any of the secrets.
 */
export function simulatorWebhooks(secrets: readonly string[]): ReadWebhook {
  const verifiers = secrets.map((secret) => new Verifier(secret));
  return (rawBody, headers) => {
    const eventId = headers['webhook-id'] ?? '';
    const isGenuine = verifiers.some((verifier) => verifies(verifier, rawBody, headers));
    return isGenuine && EVENT_ID.test(eventId) ? newsIn(rawBody, eventId) : { kind: 'forged' };
  };
}

function verifies(
  verifier: Verifier,
  rawBody: string,
  headers: Readonly<Record<string, string | undefined>>,
): boolean {
  const named = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
  const given = named.map((name) => [name, headers[name] ?? ''] as const);
  try {
    verifier.verify(rawBody, Object.fromEntries(given), { jsonParse: false });
    return true;
  } catch {
    return false;
  }
}

function newsIn(rawBody: string, eventId: string): Webhook {
  const event = eventSchema.safeParse(parsed(rawBody)).data;
  if (event === undefined) return { kind: 'ignored', eventId, type: 'unreadable' };
  const { type, data } = event;
  const { reference } = data;
  return { kind: 'event', eventId, type, reference, outcome: outcomeOfObject(data, reference) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
