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
import { toGlobalId } from '../global-id.ts';
import { cursorOf } from '../page.ts';

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
};

export const Money: MoneyResolvers = { decimal };

export const PaymentConnection: PaymentConnectionResolvers = {
  edges: ({ payments }) => payments.map((node) => ({ cursor: cursorOf(node), node })),
  nodes: ({ payments }) => payments,
  pageInfo: ({ payments, hasNextPage, hasPreviousPage }) => {
    const [first] = payments;
    const last = payments.at(-1);
    return {
      hasNextPage,
      hasPreviousPage,
      startCursor: first === undefined ? null : cursorOf(first),
      endCursor: last === undefined ? null : cursorOf(last),
    };
  },
};
