import type { Resolvers } from '../../generated/resolvers.ts';
import { scalars } from '../scalars.ts';
import { cancelByIdempotencyKey } from './cancel.ts';
import { createPayment } from './create-payment.ts';
import { PaymentEvent, PaymentEventConnection } from './events.ts';
import { capturePayment, confirmPayment, refundPayment, voidPayment } from './follow-up.ts';
import {
  JournalEntry,
  JournalEntryConnection,
  LedgerAccount,
  LedgerHealth,
  Node,
  PaymentOperation,
  PaymentOperationConnection,
  Posting,
  TrialBalance,
} from './ledger.ts';
import { Payload, TransactionIdConflict } from './payload.ts';
import { Money, Payment, PaymentConnection } from './payment.ts';
import { IdempotencyRecord, Query } from './query.ts';
import { Subscription } from './subscription.ts';
import {
  WebhookAttemptConnection,
  WebhookDelivery,
  WebhookDeliveryConnection,
  WebhookEndpoint,
  WebhookEndpointConnection,
} from './webhook.ts';
import { webhookMutations } from './webhook-mutations.ts';

export const resolvers: Resolvers = {
  ...scalars,
  Query,
  Mutation: {
    createPayment,
    capturePayment,
    voidPayment,
    refundPayment,
    confirmPayment,
    cancelByIdempotencyKey,
    ...webhookMutations,
  },
  CreatePaymentPayload: Payload,
  CapturePaymentPayload: Payload,
  VoidPaymentPayload: Payload,
  RefundPaymentPayload: Payload,
  ConfirmPaymentPayload: Payload,
  CancelByIdempotencyKeyPayload: Payload,
  IdempotencyRecord,
  JournalEntry,
  JournalEntryConnection,
  LedgerAccount,
  LedgerHealth,
  Money,
  Node,
  Payment,
  PaymentConnection,
  PaymentEvent,
  PaymentEventConnection,
  PaymentOperation,
  PaymentOperationConnection,
  Posting,
  Subscription,
  TrialBalance,
  TransactionIdConflict,
  WebhookAttemptConnection,
  WebhookDelivery,
  WebhookDeliveryConnection,
  WebhookEndpoint,
  WebhookEndpointConnection,
};
