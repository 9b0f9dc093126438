import { describe, expect, it } from 'vitest';
import { DEFAULT_RETRY, waitMs } from '../../src/client/retry.ts';
import type { Fault } from '../../src/client/testing/index.ts';
import { retryAfterMs } from '../../src/client/wire.ts';
import { onFakeTime } from './clock.ts';
import { CART, euros, shop } from './shop.ts';

describe('waiting', () => {
  it('reads Retry-After as seconds or as a date', () => {
    const now = Date.UTC(2026, 0, 1);
    expect(retryAfterMs('2', now)).toBe(2_000);
    expect(retryAfterMs('Thu, 01 Jan 2026 00:00:03 GMT', now)).toBe(3_000);
    expect(retryAfterMs('Wed, 31 Dec 2025 00:00:00 GMT', now)).toBe(0);
    expect(retryAfterMs('soon', now)).toBeUndefined();
    expect(retryAfterMs(null, now)).toBeUndefined();
  });

  it('is anything from nothing to the doubled and capped base', () => {
    expect(waitMs(DEFAULT_RETRY, 1, undefined, 1)).toBe(300);
    expect(waitMs(DEFAULT_RETRY, 4, undefined, 1)).toBe(2_400);
    expect(waitMs(DEFAULT_RETRY, 20, undefined, 1)).toBe(8_000);
    expect(waitMs(DEFAULT_RETRY, 20, undefined, 0)).toBe(0);
    expect(waitMs(DEFAULT_RETRY, 20, 5_000, 0)).toBe(5_000);
  });

  it('of 2 in Retry-After means two seconds', async () => {
    const { pay, server } = shop([{ limited: 2 }]);
    await onFakeTime(() => pay.run('createPayment', euros(500), CART), 0);
    const [first, second] = server.requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBe(2_000);
  });

  it('of 20 in retryAfterMs means twenty milliseconds', async () => {
    const { pay, server } = shop(['busy']);
    await onFakeTime(() => pay.run('createPayment', euros(500), CART), 0);
    const [first, second] = server.requests;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBe(20);
  });
});

describe('the budget', () => {
  async function timed(faults: readonly Fault[], more = {}) {
    const { pay, server } = shop(faults, { more });
    return onFakeTime(async () => {
      const began = Date.now();
      const end = await pay.run('createPayment', euros(500), CART);
      return { end, ms: Date.now() - began, pay, server };
    });
  }

  it('ends a call in time, whatever the server does', async () => {
    const slow = Array(9).fill({ slow: 1e9 });
    const { end, ms } = await timed(slow, { retry: { attempts: 9, budgetMs: 50_000 } });
    expect(end).toMatchObject({ kind: 'unknown' });
    expect(ms).toBeLessThanOrEqual(50_000);
  });

  it('gives each attempt its own time', async () => {
    const { end, ms, server } = await timed([{ slow: 1e9 }], { retry: { timeoutMs: 700 } });
    expect(end).toMatchObject({ kind: 'settled', replayed: true });
    expect(ms).toBeLessThan(1_100);
    expect(server.charges).toHaveLength(1);
  });

  it('is not spent on a wait that does not fit into it', async () => {
    const { end, ms } = await timed([{ limited: 3_600 }]);
    expect(end).toMatchObject({ kind: 'rejected', problem: { code: 'HTTP_429' } });
    expect(ms).toBe(0);
  });

  it('ends in "rejected" if it is certain that nothing was done', async () => {
    const { end, pay } = await timed(Array(5).fill('unavailable'));
    expect(end).toMatchObject({
      kind: 'rejected',
      problem: { code: 'IDEMPOTENCY_UNAVAILABLE', retryAfterMs: 20 },
    });
    expect(await pay.unsettled()).toEqual([]);
  });

  it('ends in "unknown" if any try went unanswered', async () => {
    const { end, pay } = await timed(['dropAnswer', ...Array(4).fill('unavailable')]);
    expect(end).toMatchObject({ kind: 'unknown', cause: { code: 'IDEMPOTENCY_UNAVAILABLE' } });
    expect(await pay.unsettled()).toHaveLength(1);
  });

  it('ends in "rejected" if the PSP could not be reached: nothing was sent to it', async () => {
    const { end, pay, server } = await timed(Array(5).fill('pspUnavailable'));
    expect(end).toMatchObject({ kind: 'rejected', problem: { code: 'PSP_UNAVAILABLE' } });
    expect(await pay.unsettled()).toEqual([]);
    await pay.run('createPayment', euros(500), CART);
    expect(server.keys()).toHaveLength(1);
  });

  it('a signed-out session keeps the key and, after a lost try, the doubt', async () => {
    const first = await timed(['unauthenticated']);
    expect(first.end).toMatchObject({ kind: 'rejected', problem: { code: 'UNAUTHENTICATED' } });
    const second = await timed(['dropAnswer', 'unauthenticated']);
    expect(second.end).toMatchObject({ kind: 'unknown', cause: { code: 'UNAUTHENTICATED' } });
  });

  it('a key that was used with other parameters is no reason for a new one', async () => {
    const { pay, server } = shop();
    await pay.run('createPayment', euros(500), { key: 'mine' });
    const { pay: other } = shop([], { server });
    const end = await other.run('createPayment', euros(900), { key: 'mine' });
    expect(end).toMatchObject({ kind: 'rejected', problem: { code: 'IDEMPOTENCY_KEY_REUSED' } });
    expect(server.keys()).toEqual(['mine']);
    expect(await other.resume('createPayment', { key: 'mine' })).toMatchObject({
      kind: 'settled',
      value: { amount: { amountMinor: 500 } },
    });
  });
});

describe('an abort', () => {
  it('ends the waiting in "unknown", and the payment can be resumed', async () => {
    const { pay, server } = shop([{ slow: 60_000 }]);
    await onFakeTime(async () => {
      const began = Date.now();
      const stop = new AbortController();
      setTimeout(() => stop.abort('left the page'), 500);
      const end = await pay.run('createPayment', euros(500), { ...CART, signal: stop.signal });
      if (end.kind !== 'unknown') throw new Error(end.kind);
      expect(end).toMatchObject({ cause: 'left the page', key: server.keys()[0], attempts: 1 });
      expect(Date.now() - began).toBe(500);
      expect(await end.resume()).toMatchObject({ kind: 'settled', replayed: true });
    });
    expect(server.charges).toHaveLength(1);
  });

  it('takes nothing from another caller of the same intent', async () => {
    const { pay } = shop([{ slow: 5_000 }]);
    const stop = new AbortController();
    const [gone, stays] = await onFakeTime(() => {
      setTimeout(() => stop.abort(), 100);
      return Promise.all([
        pay.run('createPayment', euros(500), { ...CART, signal: stop.signal }),
        pay.run('createPayment', euros(500), CART),
      ]);
    });
    expect([gone.kind, stays.kind]).toEqual(['unknown', 'settled']);
  });

  it('before anything was sent sends nothing', async () => {
    const { pay, server } = shop();
    const signal = AbortSignal.abort('gone');
    const end = await pay.run('createPayment', euros(500), { ...CART, signal });
    expect(end).toMatchObject({ kind: 'unknown', attempts: 0, cause: 'gone' });
    expect(server.requests).toEqual([]);
  });

  it('ends a follow', async () => {
    const { pay } = shop(Array(99).fill('pending'));
    const end = await onFakeTime(async () => {
      const first = await pay.run('createPayment', euros(500), CART);
      if (first.kind !== 'processing') throw new Error(first.kind);
      const stop = new AbortController();
      setTimeout(() => stop.abort(), 10_000);
      return first.follow(stop.signal);
    });
    expect(end.kind).toBe('unknown');
  });
});

it('tells of every attempt, without parameters', async () => {
  const { pay, attempts } = shop(['dropAnswer', 'busy']);
  await onFakeTime(() => pay.run('createPayment', euros(500), CART));
  expect(attempts.map(({ attempt, event, code }) => [attempt, event, code])).toEqual([
    [1, 'sent', undefined],
    [1, 'lost', 'NO_ANSWER'],
    [1, 'waiting', undefined],
    [2, 'sent', undefined],
    [2, 'answer', 'IDEMPOTENCY_IN_PROGRESS'],
    [2, 'waiting', undefined],
    [3, 'sent', undefined],
    [3, 'answer', undefined],
  ]);
  expect(attempts[0]).toMatchObject({ scope: CART.scope, operation: 'CreatePayment' });
});

it('asks for headers before every attempt, and sends nothing if there are none', async () => {
  let asked = 0;
  const headers = () => {
    asked += 1;
    if (asked === 1) throw new Error('no token yet');
    return { authorization: `Bearer ${asked}` };
  };
  const { pay, server } = shop([], { more: { headers } });
  const end = await onFakeTime(() => pay.run('createPayment', euros(500), CART));
  expect(end.kind).toBe('settled');
  expect(server.requests.map((request) => request.headers['authorization'])).toEqual(['Bearer 2']);
});
