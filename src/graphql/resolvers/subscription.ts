import type { SubscriptionResolvers } from '../../generated/resolvers.ts';
import type { Payment, PaymentEvent } from '../../payments/index.ts';
import { type Context, merchantOf, type StreamRequest } from '../context.ts';
import { eventCursor, noCursor, positionOf } from '../event-page.ts';
import { fromGlobalId } from '../global-id.ts';
import { badInput } from '../refusals.ts';

/** The id under which a message goes out, and what is in it; nothing but the id at the beginning. */
export interface Arrival {
  readonly id: string;
}
type EventArrival = Arrival & { readonly paymentEvents: PaymentEvent };
type PaymentArrival = Arrival & { readonly paymentUpdated: Payment };

const LAST_EVENT_ID = 'Last-Event-ID';

export const Subscription: SubscriptionResolvers = {
  paymentEvents: {
    subscribe: async (_source, { after }, context) => {
      const stream = streamOf(context);
      const position = await beginning(context, stream.lastEventId, after ?? undefined);
      return events(context, position, stream.signal) as AsyncIterable<EventArrival>;
    },
  },
  paymentUpdated: {
    subscribe: async (_source, { id, sinceVersion }, context) => {
      const { signal, lastEventId } = streamOf(context);
      const paymentId = fromGlobalId('Payment', id);
      const payment = paymentId === undefined ? undefined : await read(context, paymentId);
      if (payment === undefined) throw badInput('id', 'is no payment of this merchant');
      const seen = /^\d{1,9}$/.test(lastEventId ?? '') ? Number(lastEventId) : 0;
      return updates(context, payment, Math.max(seen, sinceVersion ?? 0), signal);
    },
  },
};

/** @throws BAD_USER_INPUT for a cursor that is none of this merchant's, or lies beyond the end */
async function beginning(
  context: Context,
  lastEventId: string | undefined,
  after: string | undefined,
): Promise<number> {
  const { events } = context.services;
  const merchantId = merchantOf(context);
  const argument = lastEventId === undefined ? 'after' : LAST_EVENT_ID;
  const cursor = lastEventId ?? after;
  const wanted = cursor === undefined ? undefined : positionOf(merchantId, cursor, argument);
  await events.number();
  const last = await events.last(merchantId);
  if (wanted !== undefined && wanted > last) throw noCursor(argument);
  return wanted ?? last;
}

/** Pulled one by one: nothing is read ahead beyond the page that is being sent. */
async function* events(
  context: Context,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<Arrival | EventArrival> {
  const merchantId = merchantOf(context);
  const line = context.services.feed.open(merchantId);
  let position = from;
  try {
    yield { id: eventCursor({ merchantId, position }) };
    while (!signal.aborted) {
      const { growths } = line;
      const page = await line.after(position);
      for (const event of page) {
        yield { id: eventCursor(event), paymentEvents: event };
        position = event.position;
      }
      if (page.length === 0) await line.grown(growths, signal);
    }
  } finally {
    line.close();
  }
}

async function* updates(
  context: Context,
  first: Payment,
  since: number,
  signal: AbortSignal,
): AsyncGenerator<PaymentArrival> {
  let version = since;
  for (let payment: Payment | undefined = first; !signal.aborted; ) {
    if (payment !== undefined && payment.version > version) {
      version = payment.version;
      yield { id: String(version), paymentUpdated: payment };
    }
    const { merchantId, id } = first;
    await context.services.feed.newer({ merchantId, id, version }, signal);
    if (!signal.aborted) payment = await read(context, id);
  }
}

async function read(context: Context, paymentId: string): Promise<Payment | undefined> {
  return (await context.services.reader.byIds(merchantOf(context), [paymentId]))[0];
}

/** Where there is no stream, the operation has been refused before. */
function streamOf({ stream }: Context): StreamRequest {
  if (stream === undefined) throw new TypeError('A subscription needs a stream.');
  return stream;
}
