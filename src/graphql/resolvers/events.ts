import type {
  PaymentEventConnectionResolvers,
  PaymentEventResolvers,
  QueryResolvers,
} from '../../generated/resolvers.ts';
import { merchantOf } from '../context.ts';
import { eventCursor, noCursor, positionOf } from '../event-page.ts';
import { toGlobalId } from '../global-id.ts';
import { pageSize } from '../page.ts';

/** What has been committed by now is numbered first, so that everybody sees their own payments. */
export const paymentEvents: NonNullable<QueryResolvers['paymentEvents']> = async (
  _source,
  args,
  context,
) => {
  const { events } = context.services;
  const merchantId = merchantOf(context);
  const size = pageSize(args.first);
  const { after } = args;
  const isStart = after === undefined || after === null;
  const position = isStart ? 0 : positionOf(merchantId, after);
  await events.number();
  const found = await events.after(merchantId, position, size + 1);
  // Beyond the end there is nothing to go on from: the database was put back, or the cursor made up.
  const isEnd = found.length === 0 && position > 0;
  if (isEnd && (await events.last(merchantId)) < position) throw noCursor();
  return { merchantId, position, nodes: found.slice(0, size), hasNextPage: found.length > size };
};

export const PaymentEvent: PaymentEventResolvers = {
  id: ({ id }) => toGlobalId('PaymentEvent', id),
  cursor: eventCursor,
  payment: async ({ paymentId }, _args, { payments }) => (await payments.load(paymentId)) ?? null,
  entry: async ({ entryId }, _args, { entries }) => (await entries.load(entryId)) ?? null,
};

export const PaymentEventConnection: PaymentEventConnectionResolvers = {
  edges: ({ nodes }) => nodes.map((node) => ({ cursor: eventCursor(node), node })),
  pageInfo: ({ merchantId, position, nodes, hasNextPage }) => {
    const [first] = nodes;
    return {
      hasNextPage,
      hasPreviousPage: position > 0,
      startCursor: first === undefined ? null : eventCursor(first),
      endCursor: eventCursor(nodes.at(-1) ?? { merchantId, position }),
    };
  },
};
