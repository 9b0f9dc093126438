import type {
  PaymentFilter as FilterInput,
  IdempotencyAdvice,
  IdempotencyRecordResolvers,
  PaymentLookup as LookupInput,
  QueryResolvers,
} from '../../generated/resolvers.ts';
import type { JournalEntry, PaymentFilter, PaymentLookup } from '../../payments/index.ts';
import { checkTexts } from '../arguments.ts';
import { type Context, merchantOf } from '../context.ts';
import { fromGlobalId } from '../global-id.ts';
import { pageOf, pageRequest } from '../page.ts';
import { badInput } from '../refusals.ts';
import { deliveryKey, endpointKey } from '../webhook-page.ts';
import { fieldOf } from './ended.ts';
import { paymentEvents } from './events.ts';
import { webhookEndpoints } from './webhook.ts';

const MOST_NODES = 100;

export const Query: QueryResolvers = {
  payment: async (_source, { by }, context) => {
    const lookup = lookupOf(by);
    if (lookup === undefined) return null;
    return (await context.services.reader.find(merchantOf(context), lookup)) ?? null;
  },

  node: async (_source, { id }, context) => nodeOf(id, context),

  nodes: async (_source, { ids }, context) => {
    if (ids.length > MOST_NODES) throw badInput('ids', `may be at most ${MOST_NODES}`);
    return Promise.all(ids.map((id) => nodeOf(id, context)));
  },

  payments: async (_source, { filter, sort, ...args }, context) => {
    const request = pageRequest(args);
    const found = await context.services.reader.page(merchantOf(context), {
      ...request,
      filter: filterOf(filter),
      oldestFirst: sort === 'CREATED_AT_ASC',
    });
    return pageOf(request, found);
  },

  journalEntries: async (_source, args, context) => {
    const request = pageRequest(args);
    return pageOf(request, await context.services.ledger.entries(merchantOf(context), request));
  },

  paymentEvents,

  webhookEndpoints,

  ledgerAccounts: (_source, { at }, context) =>
    context.services.ledger.balances(merchantOf(context), at ?? null),

  ledgerHealth: (_source, _args, context) => context.services.ledger.health(merchantOf(context)),

  idempotencyKey: async (_source, { key }, context) => {
    checkTexts(key, 'key');
    return (await context.services.reader.entryByKey(merchantOf(context), key)) ?? null;
  },
};

export const IdempotencyRecord: IdempotencyRecordResolvers = {
  key: ({ entry }) => entry.idempotencyKey,
  operation: ({ entry }) => fieldOf(entry),
  state: ({ entry }) => entry.state,
  next: ({ entry }) => adviceFor(entry),
  fingerprintVersion: ({ entry }) => entry.fingerprintVersion,
  attempt: ({ entry }) => entry.attempt,
  firstSeenAt: ({ entry }) => entry.createdAt,
  settledAt: ({ entry }) => entry.settledAt,
  payment: ({ payment }) => (payment.status === 'NOT_SENT' ? null : payment),
};

/** Objects of one kind are read together, whatever order they are asked for in. */
async function nodeOf(globalId: string, context: Context) {
  const { payments, entries, endpoints, services } = context;
  const paymentId = fromGlobalId('Payment', globalId);
  if (paymentId !== undefined) return (await payments.load(paymentId)) ?? null;
  const entryId = fromGlobalId('JournalEntry', globalId);
  if (entryId !== undefined) return (await entries.load(entryId)) ?? null;
  const endpoint = endpointKey(merchantOf(context), globalId);
  if (endpoint !== undefined) return (await endpoints.load(endpoint.id)) ?? null;
  const delivery = deliveryKey(merchantOf(context), globalId);
  return delivery === undefined ? null : ((await services.endpoints.delivery(delivery)) ?? null);
}

/** Null equals omitted. */
function filterOf(filter: FilterInput | null | undefined): PaymentFilter {
  if (filter === null || filter === undefined) return {};
  checkTexts(filter, 'filter');
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== null));
}

/** The schema has checked that exactly one field is there (@oneOf). */
function lookupOf(by: LookupInput): PaymentLookup | undefined {
  checkTexts(by, 'by');
  const { id, transactionId, idempotencyKey, pspReference } = by;
  if (typeof id === 'string') {
    const own = fromGlobalId('Payment', id);
    return own === undefined ? undefined : { by: 'id', value: own };
  }
  if (typeof transactionId === 'string') return { by: 'transactionId', value: transactionId };
  if (typeof idempotencyKey === 'string') return { by: 'idempotencyKey', value: idempotencyKey };
  if (typeof pspReference === 'string') return { by: 'pspReference', value: pspReference };
  throw badInput('by', 'needs exactly one field');
}

function adviceFor({ operation, state, outcomeSource }: JournalEntry): IdempotencyAdvice {
  switch (state) {
    case 'SENDING':
    case 'UNKNOWN':
    case 'PENDING':
      return 'WAIT';
    case 'SUCCEEDED':
      return operation === 'CANCEL' ? 'NEW_KEY' : 'RETRY_SAME_KEY';
    case 'DECLINED':
      return 'NEW_KEY';
    case 'FAILED':
      return outcomeSource === 'NOT_SENT' ? 'RETRY_SAME_KEY' : 'NEW_KEY';
    case 'IN_REVIEW':
      return 'CONTACT_SUPPORT';
  }
}
