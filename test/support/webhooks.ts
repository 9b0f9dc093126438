import { randomUUID } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';

export const SECRET = `whsec_${Buffer.from('what the simulator signs with').toString('base64')}`;
export const NEXT_SECRET = `whsec_${Buffer.from('what it will sign with soon').toString('base64')}`;
export const STRIPE_SECRET = 'whsec_of_the_stand_in';

/** One delivery of a webhook: it may be sent any number of times. */
export interface Mail {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Signing {
  readonly id?: string;
  readonly secret?: string;
  /** How long ago it was signed, in s. */
  readonly ageS?: number;
}

/** An event of the simulator about one operation, signed. */
export function simulatorMail(
  object: { readonly reference: string; readonly [member: string]: unknown },
  { id = `msg_${randomUUID()}`, secret = SECRET, ageS = 0 }: Signing = {},
): Mail {
  const data = {
    id: 'ch_from_a_webhook',
    kind: 'charge',
    status: 'succeeded',
    amountMinor: 1_050,
    currency: 'EUR',
    ...object,
  };
  const type = `${data.kind}.${data.status}`;
  return signed(JSON.stringify({ type, timestamp: new Date().toISOString(), data }), {
    id,
    secret,
    ageS,
  });
}

/** Signs a body as Standard Webhooks does. */
export function signed(body: string, { id, secret, ageS }: Required<Signing>): Mail {
  const at = new Date(Date.now() - ageS * 1_000);
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
      'webhook-signature': new Webhook(secret).sign(id, at, body),
    },
  };
}

const { webhooks } = new Stripe('sk_test_only_for_signing');

/** An event of Stripe about one object, signed. */
export function stripeMail(
  type: string,
  object: object,
  { id = `evt_${randomUUID()}`, secret = STRIPE_SECRET, ageS = 0 }: Signing = {},
): Mail {
  const payload = JSON.stringify({ id, object: 'event', type, data: { object } });
  const timestamp = Math.floor(Date.now() / 1_000) - ageS;
  const signature = webhooks.generateTestHeaderString({ payload, secret, timestamp });
  return {
    body: payload,
    headers: { 'content-type': 'application/json; charset=utf-8', 'stripe-signature': signature },
  };
}

/** @returns the status and the whole answer */
export async function mail(
  url: string,
  { headers, body }: Mail,
  psp: 'simulator' | 'stripe' = 'simulator',
): Promise<{ status: number; text: string; headers: Headers }> {
  const response = await fetch(`${url}/webhooks/${psp}`, { method: 'POST', headers, body });
  return { status: response.status, text: await response.text(), headers: response.headers };
}
