import type {
  MoneyResolvers,
  PaymentConnectionResolvers,
  PaymentResolvers,
} from '../../generated/resolvers.ts';
import {
  type Money as Amount,
  allowedActions,
  capturableMinor,
  decimal,
  inDoubtMinor,
  isTerminal,
  type Payment as Row,
  refundableMinor,
} from '../../payments/index.ts';
import type { Context } from '../context.ts';
import { toGlobalId } from '../global-id.ts';
import { connection, type EntryPage, pageOf, pageRequest } from '../page.ts';

const money =
  (minor: (payment: Row) => number) =>
  (payment: Row): Amount => ({ amountMinor: minor(payment), currency: payment.currency });

export const Payment: PaymentResolvers = {
  id: ({ id }) => toGlobalId('Payment', id),
  status: ({ status }) => (status === 'NOT_SENT' ? 'PROCESSING' : status),
  isTerminal: ({ status }) => isTerminal(status),
  amount: money(({ amountMinor }) => amountMinor),
  authorized: money(({ authorizedMinor }) => authorizedMinor),
  captured: money(({ capturedMinor }) => capturedMinor),
  refunded: money(({ refundedMinor }) => refundedMinor),
  capturable: money(capturableMinor),
  refundable: money(refundableMinor),
  inDoubt: money(inDoubtMinor),
  allowedActions,
  nextAction: ({ status, nextActionUrl }) =>
    status === 'REQUIRES_ACTION' && nextActionUrl !== null ? { url: nextActionUrl } : null,
  operations: entriesOf,
  journalEntries: entriesOf,
};

/** Entries of many payments are read together. */
async function entriesOf(
  { id }: Row,
  args: Parameters<typeof pageRequest>[0],
  context: Context,
): Promise<EntryPage> {
  const request = pageRequest(args);
  return pageOf(request, await context.entriesOf.load({ ...request, paymentId: id }));
}

export const Money: MoneyResolvers = { decimal };

export const PaymentConnection: PaymentConnectionResolvers = connection<Row>();
