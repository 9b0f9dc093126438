import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import { type GraphQLError, print } from 'graphql';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  CreatePaymentDocument,
  type CreatePaymentMutationVariables,
  PaymentByIdDocument,
  PaymentByKeyDocument,
  PaymentsDocument,
} from '../../src/generated/client/graphql.ts';
import { freshKey, send } from '../support/pay.ts';
import type { TestServer } from '../support/with-server.ts';
import { startWorld, type World } from './world.ts';

let world: World;
let server: TestServer;

beforeAll(async () => {
  world = await startWorld();
  server = await world.server();
}, 120_000);

afterAll(() => world.end(), 60_000);

/** The least that a client needs: what goes in and what comes out is known to the compiler. */
async function run<Data, Variables>(
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<{ data?: Data | null; errors?: readonly GraphQLError[] }> {
  const { text } = await send(server, JSON.stringify({ query: print(document), variables }));
  return JSON.parse(text) as { data?: Data | null; errors?: readonly GraphQLError[] };
}

const order = (more: Partial<CreatePaymentMutationVariables['input']> = {}) => ({
  idempotencyKey: freshKey(),
  input: { amount: { amountMinor: 1_050, currency: 'EUR' }, paymentMethod: 'pm_ok', ...more },
});

test('a payment is made, replayed and found through the typed documents', async () => {
  const variables = order({ transactionId: `T-${freshKey()}`, metadata: { a: 1 } });
  const made = await run(CreatePaymentDocument, variables);
  expect(made.errors).toBeUndefined();
  const { payment, userErrors, idempotency } = made.data?.createPayment ?? {};
  expect(userErrors).toEqual([]);
  expect(payment).toMatchObject({
    status: 'CAPTURED',
    isTerminal: true,
    amount: { amountMinor: 1_050, currency: 'EUR', decimal: '10.50' },
  });
  expect(idempotency).toMatchObject({ key: variables.idempotencyKey, outcome: 'EXECUTED' });

  const again = await run(CreatePaymentDocument, variables);
  expect(again.data?.createPayment.payment).toEqual(payment);
  expect(again.data?.createPayment.idempotency.outcome).toBe('REPLAYED');

  const { idempotencyKey } = variables;
  const byKey = await run(PaymentByKeyDocument, { idempotencyKey });
  expect(byKey.data?.idempotencyKey).toMatchObject({
    key: idempotencyKey,
    operation: 'createPayment',
    state: 'SUCCEEDED',
    next: 'RETRY_SAME_KEY',
    payment: { id: payment?.id },
  });
  const byId = await run(PaymentByIdDocument, { id: payment?.id ?? '' });
  expect(byId.data?.payment).toEqual(payment);
  const page = await run(PaymentsDocument, { first: 1 });
  expect(page.data?.payments.nodes).toEqual([payment]);
});

test('what went wrong with the money comes as data of a known kind', async () => {
  const declined = await run(
    CreatePaymentDocument,
    order({ paymentMethod: 'pm_insufficient_funds' }),
  );
  const [error] = declined.data?.createPayment.userErrors ?? [];
  expect(error?.__typename).toBe('PaymentDeclined');
  if (error?.__typename === 'PaymentDeclined') {
    expect(error).toMatchObject({ declineCode: 'insufficient_funds', soft: true });
  }

  const unknown = await run(CreatePaymentDocument, order({ paymentMethod: 'pm_execute_then_500' }));
  const [doubt] = unknown.data?.createPayment.userErrors ?? [];
  expect(doubt?.__typename).toBe('OutcomeUnknown');
  if (doubt?.__typename === 'OutcomeUnknown') {
    expect(Date.parse(doubt.nextCheckAt ?? '')).toBeGreaterThan(0);
  }

  const transactionId = `T-${freshKey()}`;
  const first = await run(CreatePaymentDocument, order({ transactionId }));
  const second = await run(CreatePaymentDocument, order({ transactionId }));
  const [conflict] = second.data?.createPayment.userErrors ?? [];
  expect(conflict?.__typename).toBe('TransactionIdConflict');
  if (conflict?.__typename === 'TransactionIdConflict') {
    expect(conflict.existingPayment.id).toBe(first.data?.createPayment.payment?.id);
  }

  const busy = await run(CreatePaymentDocument, order({ paymentMethod: 'pm_rate_limited_1' }));
  const [wait] = busy.data?.createPayment.userErrors ?? [];
  expect(wait?.__typename).toBe('PspUnavailable');
  if (wait?.__typename === 'PspUnavailable') expect(wait.retryAfterMs).toBeGreaterThan(0);
});

test('what went wrong with the request comes as an error with a code', async () => {
  const variables = order();
  await run(CreatePaymentDocument, variables);
  const other = { ...variables, input: { ...variables.input, description: 'other' } };
  const refused = await run(CreatePaymentDocument, other);
  expect(refused.data ?? null).toBeNull();
  expect(refused.errors?.[0]?.extensions?.['code']).toBe('IDEMPOTENCY_KEY_REUSED');
});
