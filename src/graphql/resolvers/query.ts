import type {
  IdempotencyAdvice,
  IdempotencyRecordResolvers,
  PaymentLookup as LookupInput,
  QueryResolvers,
} from '../../generated/resolvers.ts';
import type { JournalEntry, PaymentLookup } from '../../payments/index.ts';
import { checkTexts } from '../arguments.ts';
import { merchantOf } from '../context.ts';
import { fromGlobalId } from '../global-id.ts';
import { pageRequest } from '../page.ts';
import { badInput } from '../refusals.ts';
import { fieldOf } from './ended.ts';

export const Query: QueryResolvers = {
  payment: async (_source, { by }, context) => {
    const lookup = lookupOf(by);
    if (lookup === undefined) return null;
    return (await context.services.reader.find(merchantOf(context), lookup)) ?? null;
  },

  payments: async (_source, { first, after }, context) => {
    const request = pageRequest(first ?? 20, after ?? undefined);
    const found = await context.services.reader.page(merchantOf(context), request);
    return {
      payments: found.slice(0, request.first),
      hasNextPage: found.length > request.first,
      hasPreviousPage: request.after !== undefined,
    };
  },

  idempotencyKey: async (_source, { key }, context) => {
    checkTexts(key, 'key');
    return (await context.services.reader.entryByKey(merchantOf(context), key)) ?? null;
  },
};

export const IdempotencyRecord: IdempotencyRecordResolvers = {
  key: ({ entry }) => entry.idempotencyKey,
  operation: ({ entry }) => fieldOf(entry.operation),
  state: ({ entry }) => entry.state,
  next: ({ entry }) => adviceFor(entry),
  fingerprintVersion: ({ entry }) => entry.fingerprintVersion,
  attempt: ({ entry }) => entry.attempt,
  firstSeenAt: ({ entry }) => entry.createdAt,
  settledAt: ({ entry }) => entry.settledAt,
  payment: ({ payment }) => (payment.status === 'NOT_SENT' ? null : payment),
};

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

function adviceFor({ state, outcomeSource }: JournalEntry): IdempotencyAdvice {
  switch (state) {
    case 'SENDING':
    case 'UNKNOWN':
    case 'PENDING':
      return 'WAIT';
    case 'SUCCEEDED':
      return 'RETRY_SAME_KEY';
    case 'DECLINED':
      return 'NEW_KEY';
    case 'FAILED':
      return outcomeSource === 'NOT_SENT' ? 'RETRY_SAME_KEY' : 'NEW_KEY';
    case 'IN_REVIEW':
      return 'CONTACT_SUPPORT';
  }
}
