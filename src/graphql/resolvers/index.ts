import type { Resolvers } from '../../generated/resolvers.ts';
import { scalars } from '../scalars.ts';
import { createPayment } from './create-payment.ts';
import { CreatePaymentPayload, TransactionIdConflict } from './payload.ts';
import { Money, Payment, PaymentConnection } from './payment.ts';
import { IdempotencyRecord, Query } from './query.ts';

export const resolvers: Resolvers = {
  ...scalars,
  Query,
  Mutation: { createPayment },
  CreatePaymentPayload,
  IdempotencyRecord,
  Money,
  Payment,
  PaymentConnection,
  TransactionIdConflict,
};
