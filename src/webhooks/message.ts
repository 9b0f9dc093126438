import { Webhook } from 'standardwebhooks';
import { type Delivery, type Due, PING } from './delivery.ts';

/** An id that is unique over all types, as the API shows it. */
export type GlobalId = (type: string, id: string) => string;

/** What is sent, and signed. */
export interface Message {
  /** `webhook-id`: the same for every attempt, and for every endpoint that gets the event. */
  readonly id: string;
  readonly body: string;
}

/** The event's own id, as the API shows it; of a ping, one of its own. */
export function webhookIdOf(
  { type, id }: Pick<Delivery, 'type' | 'id'>,
  globalId: GlobalId,
): string {
  return globalId(type === PING ? 'WebhookPing' : 'PaymentEvent', id);
}

/** Says what happened and never changes; what is true now, the API says. */
export function messageOf(due: Due, globalId: GlobalId): Message {
  const { type, happened, createdAt } = due;
  const id = webhookIdOf(due, globalId);
  if (happened === undefined) {
    const data = { endpointId: globalId('WebhookEndpoint', due.endpointId) };
    return { id, body: JSON.stringify({ type, timestamp: createdAt.toISOString(), data }) };
  }
  const { at, paymentVersion, operation, amountMinor, currency, transactionId } = happened;
  const data = {
    eventId: id,
    paymentId: globalId('Payment', happened.paymentId),
    paymentVersion,
    entryId: globalId('JournalEntry', happened.entryId),
    operation,
    amount: { amountMinor, currency },
    transactionId,
  };
  return { id, body: JSON.stringify({ type, timestamp: at.toISOString(), data }) };
}

/** The headers of Standard Webhooks, with a signature by each of the secrets. */
export function signedHeaders(
  { id, body }: Message,
  secrets: readonly string[],
  now: Date,
): Readonly<Record<string, string>> {
  return {
    'content-type': 'application/json',
    'user-agent': 'semel-webhooks',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(' '),
  };
}
