import { Client, fetchExchange, makeErrorResult, makeResult } from '@urql/core';
import { retryExchange } from '@urql/exchange-retry';
import { describe, expect, it } from 'vitest';
import { CreatePaymentDocument } from '../../src/client/documents.ts';
import type { Fault } from '../../src/client/testing/index.ts';
import { intentExchange, intentKey, OutcomeUnknownError } from '../../src/client/urql.ts';
import { onFakeTime } from './clock.ts';
import { CART, euros, shop } from './shop.ts';

function urql(faults: readonly Fault[], withExchange = true) {
  const { server, pay } = shop(faults);
  const retry = retryExchange({ maxNumberAttempts: 8, maxDelayMs: 100, initialDelayMs: 10 });
  const intents = intentExchange({ pay, makeResult, makeErrorResult });
  const client = new Client({
    url: 'http://fake/graphql',
    fetch: server.fetch as typeof fetch,
    preferGetMethod: false,
    exchanges: withExchange ? [retry, intents, fetchExchange] : [retry, fetchExchange],
  });
  const click = (amount = 500) =>
    client
      .mutation(CreatePaymentDocument, {
        idempotencyKey: withExchange ? intentKey(CART.scope) : crypto.randomUUID(),
        ...euros(amount),
      })
      .toPromise();
  return { server, client, click };
}

describe('urql with retryExchange and our exchange', () => {
  it('pays once when the answer is dropped after the charge', async () => {
    const { server, click } = urql(['dropAnswer', 'broken', 'late', 'truncated']);
    const { data, error } = await onFakeTime(() => click());
    expect(error).toBeUndefined();
    expect(data?.createPayment.payment?.status).toBe('CAPTURED');
    expect(server.keys()).toHaveLength(1);
    expect(server.charges).toHaveLength(1);
  });

  it('pays once under a double click', async () => {
    const { server, click } = urql(['dropAnswer']);
    const [first, second] = await onFakeTime(() => Promise.all([click(), click()]));
    expect(first.data).toEqual(second.data);
    expect(server.charges).toHaveLength(1);
  });

  it('control: without it a second click is a second charge', async () => {
    const { server, click } = urql(['dropAnswer'], false);
    await onFakeTime(() => Promise.all([click(), click()]));
    expect(server.charges).toHaveLength(2);
  });

  it('reads refusals from 409, 429 and 422 answers', async () => {
    const { server, click } = urql(['busy', { limited: 2 }]);
    await onFakeTime(() => click());
    expect(server.requests).toHaveLength(3);
    expect((server.requests[2]?.at ?? 0) - (server.requests[1]?.at ?? 0)).toBeGreaterThanOrEqual(
      2_000,
    );
    const other = await click(900);
    expect(other.error?.graphQLErrors[0]?.extensions).toMatchObject({ code: 'SCOPE_SETTLED' });
  });

  it('ends in an error that can be resumed', async () => {
    const { server, click } = urql(Array(60).fill('dropRequest'));
    const { error } = await onFakeTime(() => click());
    expect(error?.networkError).toBeInstanceOf(OutcomeUnknownError);
    expect(server.keys()).toHaveLength(1);
  });

  it('leaves mutations with a key of their own alone', async () => {
    const { server, client } = urql([]);
    const own = { idempotencyKey: 'my-own', ...euros(500) };
    const { data } = await client.mutation(CreatePaymentDocument, own).toPromise();
    expect(data?.createPayment.payment?.status).toBe('CAPTURED');
    expect(server.keys()).toEqual(['my-own']);
  });
});
