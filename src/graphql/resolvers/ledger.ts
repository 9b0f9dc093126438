import type {
  JournalEntryConnectionResolvers,
  JournalEntryResolvers,
  LedgerAccountName,
  LedgerAccountResolvers,
  LedgerHealthResolvers,
  NodeResolvers,
  OperationKind,
  PaymentOperationConnectionResolvers,
  PaymentOperationResolvers,
  PostingResolvers,
  TrialBalanceResolvers,
} from '../../generated/resolvers.ts';
import { type Account, decimal, type JournalEntry as Row } from '../../payments/index.ts';
import { toGlobalId } from '../global-id.ts';
import { connection } from '../page.ts';

export const Node: NodeResolvers = {
  __resolveType: (node) => {
    if ('idempotencyKey' in node) return 'JournalEntry';
    if ('url' in node) return 'WebhookEndpoint';
    return 'endpointId' in node ? 'WebhookDelivery' : 'Payment';
  },
};

const amount = ({ amountMinor, currency }: Row) => ({ amountMinor, currency });

/** What stands for a cancelled key belongs to no payment that is shown, and is not read here. */
function operationOf({ operation }: Row): OperationKind {
  if (operation === 'CANCEL') throw new TypeError('A cancelled key is no operation.');
  return operation;
}

export const PaymentOperation: PaymentOperationResolvers = {
  kind: operationOf,
  amount,
};
export const PaymentOperationConnection: PaymentOperationConnectionResolvers = connection<Row>();

export const JournalEntry: JournalEntryResolvers = {
  id: ({ id }) => toGlobalId('JournalEntry', id),
  operation: operationOf,
  amount,
  postings: ({ id }, _args, { postingsOf }) => postingsOf.load(id),
  payment: async ({ paymentId }, _args, { payments }) => (await payments.load(paymentId)) ?? null,
};
export const JournalEntryConnection: JournalEntryConnectionResolvers = connection<Row>();

const nameOf = (account: Account) => account.toUpperCase() as LedgerAccountName;

export const Posting: PostingResolvers = {
  account: ({ account }) => nameOf(account),
  amount: ({ amountMinor, currency }) => ({ amountMinor, currency }),
};

export const LedgerAccount: LedgerAccountResolvers = {
  account: ({ account }) => nameOf(account),
  balance: ({ balanceMinor }) => balanceMinor,
  decimal: ({ balanceMinor, currency }) => decimal({ amountMinor: balanceMinor, currency }),
};

export const TrialBalance: TrialBalanceResolvers = {
  debits: ({ debitsMinor }) => debitsMinor,
  credits: ({ creditsMinor }) => creditsMinor,
  difference: ({ debitsMinor, creditsMinor }) => debitsMinor - creditsMinor,
};

export const LedgerHealth: LedgerHealthResolvers = {
  trialBalance: ({ trials }) => trials,
  entriesWithoutPostings: ({ withoutPostings }) => withoutPostings,
  outboxLag: ({ withoutEvent, withoutPosition }) => withoutEvent + withoutPosition,
};
