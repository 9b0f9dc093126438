import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, Observable } from '@apollo/client';
import { RetryLink } from '@apollo/client/link/retry';
import { describe, expect, it } from 'vitest';
import { intentKey, intentLink, OutcomeUnknownError } from '../../src/client/apollo.ts';
import { CreatePaymentDocument } from '../../src/client/documents.ts';
import type { Fault } from '../../src/client/testing/index.ts';
import { onFakeTime } from './clock.ts';
import { CART, euros, shop } from './shop.ts';

const RETRIES = { delay: { initial: 10, max: 100 }, attempts: { max: 8 } };

function apollo(faults: readonly Fault[], withLink = true, mediaType?: string) {
  const { server, pay, open } = shop(faults);
  const fetch: typeof globalThis.fetch = async (url, init) => {
    const response = await server.fetch(url, init);
    if (mediaType === undefined) return response;
    const headers = new Headers(response.headers);
    headers.set('content-type', mediaType);
    return new Response(await response.text(), { status: response.status, headers });
  };
  const http = new HttpLink({ uri: 'http://fake/graphql', fetch });
  const retry = new RetryLink(RETRIES);
  const intents = intentLink({ pay, ApolloLink, Observable });
  const client = new ApolloClient({
    cache: new InMemoryCache(),
    link: ApolloLink.from(withLink ? [retry, intents, http] : [retry, http]),
  });
  const click = (amount = 500) =>
    client.mutate({
      mutation: CreatePaymentDocument,
      variables: {
        idempotencyKey: withLink ? intentKey(CART.scope) : crypto.randomUUID(),
        ...euros(amount),
      },
    });
  return { server, pay, open, client, click };
}

describe('Apollo Client 4 with RetryLink and our link', () => {
  it('pays once when the answer is dropped after the charge', async () => {
    const { server, click } = apollo(['dropAnswer', 'broken', 'late', 'truncated']);
    const { data } = await onFakeTime(() => click());
    expect(data?.createPayment.payment?.status).toBe('CAPTURED');
    expect(server.keys()).toHaveLength(1);
    expect(server.charges).toHaveLength(1);
  });

  it('pays once under a double click', async () => {
    const { server, click } = apollo(['dropAnswer']);
    const [first, second] = await onFakeTime(() => Promise.all([click(), click()]));
    expect(first.data).toEqual(second.data);
    expect(server.charges).toHaveLength(1);
  });

  it('control: without it a second click is a second charge', async () => {
    const { server, click } = apollo(['dropAnswer'], false);
    await onFakeTime(() => Promise.all([click(), click()]));
    expect(server.charges).toHaveLength(2);
  });

  it.each(['application/graphql-response+json', 'application/json'])(
    'reads refusals from %s answers',
    async (mediaType) => {
      const { server, click, open } = apollo(['busy', { limited: 2 }], true, mediaType);
      await onFakeTime(() => click());
      expect(server.requests).toHaveLength(3);
      expect((server.requests[2]?.at ?? 0) - (server.requests[1]?.at ?? 0)).toBeGreaterThanOrEqual(
        2_000,
      );
      const other = await click(900).catch((error: unknown) => error);
      expect(other).toMatchObject({ errors: [{ extensions: { code: 'SCOPE_SETTLED' } }] });
      expect(await open().unsettled()).toEqual([]);
    },
  );

  it('ends in an error that can be resumed', async () => {
    const { server, click } = apollo(Array(60).fill('dropRequest'));
    const error = await onFakeTime(() => click().catch((cause: unknown) => cause));
    expect(error).toBeInstanceOf(OutcomeUnknownError);
    expect(server.keys()).toHaveLength(1);
  });

  it('leaves mutations with a key of their own alone', async () => {
    const { server, client } = apollo([]);
    await client.mutate({
      mutation: CreatePaymentDocument,
      variables: { idempotencyKey: 'my-own', ...euros(500) },
    });
    expect(server.keys()).toEqual(['my-own']);
  });
});
