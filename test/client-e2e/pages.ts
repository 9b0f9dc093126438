/** Pages that pay: the same purchase through different GraphQL clients. */

import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, Observable } from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import {
  type AnyVariables,
  Client,
  type Exchange,
  fetchExchange,
  makeErrorResult,
  makeResult,
  mapExchange,
} from '@urql/core';
import { retryExchange } from '@urql/exchange-retry';
import { print } from 'graphql';
import { intentKey, intentLink } from '../../src/client/apollo.ts';
import { CreatePaymentDocument, type CreatePaymentMutation } from '../../src/client/documents.ts';
import { createPayClient, createPayment, stableKey } from '../../src/client/index.ts';
import { intentExchange } from '../../src/client/urql.ts';

export interface Purchase {
  readonly endpoint: string;
  readonly apiKey: string;
  readonly cart: string;
  readonly input: {
    readonly amount: { readonly amountMinor: number; readonly currency: string };
    readonly paymentMethod: string;
  };
}

/** Opens a page; what it gives is the button. A press gives the payment's status, if one came. */
export type Page = (purchase: Purchase) => () => Promise<string | undefined>;

const RETRY = { attempts: 12, baseMs: 60, capMs: 500 } as const;
const ATTEMPTS = 12;

function headersOf({ apiKey }: Purchase) {
  return { authorization: `Bearer ${apiKey}` };
}

function payClient(purchase: Purchase) {
  return createPayClient({
    endpoint: purchase.endpoint,
    headers: headersOf(purchase),
    operations: { createPayment },
    retry: RETRY,
  });
}

function statusIn(data: CreatePaymentMutation | null | undefined): string | undefined {
  return data?.createPayment.payment?.status;
}

const typedClient: Page = (purchase) => {
  const pay = payClient(purchase);
  return async () => {
    const { cart: scope, input } = purchase;
    const outcome = await pay.run('createPayment', { input }, { scope });
    return outcome.kind === 'settled' ? outcome.value.status : undefined;
  };
};

/** The links after `RetryLink` make the difference. */
function apollo(purchase: Purchase, link: ApolloLink, key: () => string) {
  const retry = new RetryLink({
    delay: { initial: 60, max: 500, jitter: true },
    attempts: { max: ATTEMPTS },
  });
  const http = new HttpLink({ uri: purchase.endpoint, headers: headersOf(purchase) });
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: ApolloLink.from([retry, link, http]),
  });
  return async () => {
    const { data } = await client.mutate({
      mutation: CreatePaymentDocument,
      variables: { idempotencyKey: key(), input: purchase.input },
    });
    return statusIn(data);
  };
}

const apolloWithIntents: Page = (purchase) => {
  const link = intentLink({ pay: payClient(purchase), ApolloLink, Observable });
  return apollo(purchase, link, () => intentKey(purchase.cart));
};

/** As pages do without our link: a link of their own mints a key for every request. */
const apolloAlone: Page = (purchase) => {
  const mint = new ApolloLink((operation, forward) => {
    operation.variables = { ...operation.variables, idempotencyKey: crypto.randomUUID() };
    return forward(operation);
  });
  return apollo(purchase, mint, () => crypto.randomUUID());
};

/** The exchange after `retryExchange` makes the difference. */
function urql(purchase: Purchase, exchange: Exchange, key: () => string) {
  const retry = retryExchange({
    initialDelayMs: 60,
    maxDelayMs: 500,
    maxNumberAttempts: ATTEMPTS,
  });
  const client = new Client({
    url: purchase.endpoint,
    preferGetMethod: false,
    fetchOptions: { headers: headersOf(purchase) },
    exchanges: [retry, exchange, fetchExchange],
  });
  return async () => {
    const variables = { idempotencyKey: key(), input: purchase.input };
    const { data } = await client.mutation(CreatePaymentDocument, variables).toPromise();
    return statusIn(data);
  };
}

const urqlWithIntents: Page = (purchase) => {
  const exchange = intentExchange({ pay: payClient(purchase), makeResult, makeErrorResult });
  return urql(purchase, exchange as Exchange, () => intentKey(purchase.cart));
};

const urqlAlone: Page = (purchase) => {
  const mint = mapExchange({
    onOperation: (operation) => {
      const idempotencyKey = crypto.randomUUID();
      const variables = { ...(operation.variables as AnyVariables), idempotencyKey };
      return operation.kind === 'mutation' ? { ...operation, variables } : operation;
    },
  });
  return urql(purchase, mint, () => crypto.randomUUID());
};

/** What graphql-request does: one POST, and an exception for everything but data. */
async function request<Data, Variables>(
  purchase: Purchase,
  document: TypedDocumentNode<Data, Variables>,
  variables: Variables,
): Promise<Data> {
  const response = await fetch(purchase.endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersOf(purchase) },
    body: JSON.stringify({ query: print(document), variables }),
  });
  const { data, errors } = (await response.json()) as { data?: Data; errors?: unknown };
  if (data === undefined || errors !== undefined) throw new Error(`Status ${response.status}.`);
  return data;
}

/** The key is made of the cart, so that every try, and a page that was loaded again, has the same. */
const plainRequests: Page = (purchase) => async () => {
  const { cart, input } = purchase;
  const variables = { idempotencyKey: await stableKey('cart', cart), input };
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    try {
      const status = statusIn(await request(purchase, CreatePaymentDocument, variables));
      if (status !== undefined) return status;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 60 * attempt));
    }
  }
  return undefined;
};

export const OURS: Readonly<Record<string, Page>> = {
  createPayClient: typedClient,
  'Apollo Client with RetryLink and our link': apolloWithIntents,
  'urql with retryExchange and our exchange': urqlWithIntents,
  'plain requests with stableKey': plainRequests,
};

/** Nothing of ours but the document: keys are minted at each press and at each try. */
export const CONTROLS: Readonly<Record<string, Page>> = {
  'Apollo Client with RetryLink': apolloAlone,
  'urql with retryExchange': urqlAlone,
};
