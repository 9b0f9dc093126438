import { describe, expect, it } from 'vitest';
import { memoryStore } from '../../src/client/index.ts';
import { fakeServer } from '../../src/client/testing/index.ts';
import { onFakeTime } from './clock.ts';
import { CART, euros, shop } from './shop.ts';

describe('one intent', () => {
  it('is written down before the first byte leaves', async () => {
    const { pay, store, server } = shop();
    const phases: unknown[] = [];
    const watched = pay.watch('createPayment', CART, (now) => {
      phases.push([now?.phase, server.requests.length]);
    });
    const end = await pay.run('createPayment', euros(500), CART);
    watched();
    expect(end).toMatchObject({ kind: 'settled', replayed: false });
    expect(phases.map(String)).toEqual(['minted,0', 'sent,0', 'settled,1']);
    expect(JSON.stringify(await store.list())).not.toContain('tok_visa');
  });

  it('has the same key on every attempt', async () => {
    const { pay, server } = shop(['dropRequest', 'dropAnswer', 'broken', 'internal']);
    const end = await onFakeTime(() => pay.run('createPayment', euros(500), CART));
    expect(end).toMatchObject({ kind: 'settled', replayed: true, value: { status: 'CAPTURED' } });
    expect(server.requests).toHaveLength(5);
    expect(server.keys()).toHaveLength(1);
    expect(server.charges).toHaveLength(1);
  });

  it('is one payment under a double click', async () => {
    const { pay, server } = shop();
    const [first, second] = await Promise.all([
      pay.run('createPayment', euros(500), CART),
      pay.run('createPayment', euros(500), CART),
    ]);
    expect(first).toBe(second);
    expect(server.requests).toHaveLength(1);
  });

  it('is one payment in two clients of one store', async () => {
    const { open, server } = shop();
    const ends = await Promise.all([
      open().run('createPayment', euros(500), CART),
      open().run('createPayment', euros(500), CART),
    ]);
    expect(ends.map((end) => end.kind === 'settled' && end.replayed).sort()).toEqual([false, true]);
    expect(server.keys()).toHaveLength(1);
    expect(server.charges).toHaveLength(1);
  });

  it('is asked for again, not made again, once it is settled', async () => {
    const { pay, server } = shop();
    await pay.run('createPayment', euros(500), CART);
    const again = await pay.run('createPayment', euros(500), CART);
    expect(again).toMatchObject({ kind: 'settled', replayed: true });
    expect(server.charges).toHaveLength(1);
    expect(server.keys()).toHaveLength(1);
  });

  it('is spent for other parameters once it is settled', async () => {
    const { pay, server } = shop();
    await pay.run('createPayment', euros(500), CART);
    const other = await pay.run('createPayment', euros(900), CART);
    expect(other).toMatchObject({ kind: 'rejected', problem: { code: 'SCOPE_SETTLED' } });
    expect(server.requests).toHaveLength(1);
  });

  it('survives a reload between send and answer', async () => {
    const { pay, open, server } = shop([{ slow: 5_000 }]);
    await onFakeTime(async () => {
      const page = new AbortController();
      const first = pay.run('createPayment', euros(500), { ...CART, signal: page.signal });
      setTimeout(() => page.abort(), 1_000);
      expect((await first).kind).toBe('unknown');
      expect(await open().unsettled()).toMatchObject([{ scope: CART.scope }]);
      const end = await open().resume('createPayment', CART);
      expect(end).toMatchObject({ kind: 'settled', replayed: true });
      expect(await open().unsettled()).toEqual([]);
    });
    expect(server.charges).toHaveLength(1);
  });
});

describe('a new key', () => {
  it('is minted by the submit after a decline', async () => {
    const { pay, server } = shop(['decline']);
    const first = await pay.run('createPayment', euros(500), CART);
    expect(first).toMatchObject({
      kind: 'declined',
      problem: { declineCode: 'insufficient_funds' },
    });
    const second = await pay.run('createPayment', euros(500, 'tok_other'), CART);
    expect(second).toMatchObject({ kind: 'settled', replayed: false });
    expect(server.keys()).toHaveLength(2);
  });

  it('is not minted by a click that came before the decline', async () => {
    const { open, server } = shop(['busy', 'decline']);
    const ends = await onFakeTime(() =>
      Promise.all([
        open().run('createPayment', euros(500), CART),
        open().run('createPayment', euros(500), CART),
      ]),
    );
    expect(ends.map(({ kind }) => kind)).toEqual(['declined', 'declined']);
    expect(server.keys()).toHaveLength(1);
  });

  it('is minted for changed parameters if the first were never sent', async () => {
    const store = memoryStore();
    const record = {
      operation: 'CreatePayment',
      key: 'first',
      paramsHash: 'other',
      phase: 'minted',
      createdAt: Date.now(),
      changedAt: Date.now(),
      attempts: 0,
    } as const;
    await store.swap(`CreatePayment:${CART.scope}`, undefined, record);
    const { pay, server } = shop([], { store });
    await pay.run('createPayment', euros(500), CART);
    expect(server.keys()).not.toContain('first');
  });

  it('is never minted for a key of the caller', async () => {
    const { pay, server } = shop(['decline']);
    const key = 'invoice-9';
    expect((await pay.run('createPayment', euros(500), { key })).kind).toBe('declined');
    expect((await pay.run('createPayment', euros(500), { key })).kind).toBe('declined');
    expect(server.keys()).toEqual([key]);
  });
});

describe('changed parameters', () => {
  it('are blocked while the old outcome is unknown, until that is settled', async () => {
    const { pay, server } = shop(Array(5).fill('dropAnswer'));
    await onFakeTime(async () => {
      expect((await pay.run('createPayment', euros(500), CART)).kind).toBe('unknown');
      const blocked = await pay.run('createPayment', euros(900), CART);
      if (blocked.kind !== 'blocked') throw new Error(blocked.kind);
      expect(blocked.unsettledKey).toBe(server.keys()[0]);
      const first = await blocked.settleFirst();
      expect(first).toMatchObject({ kind: 'settled', value: { amount: { amountMinor: 500 } } });
    });
    expect(server.charges).toHaveLength(1);
  });

  it('wait for a first request that was lost and arrives late', async () => {
    const { pay, server } = shop([...Array(4).fill('dropRequest'), 'late']);
    await onFakeTime(async () => {
      expect((await pay.run('createPayment', euros(500), CART)).kind).toBe('unknown');
      const blocked = await pay.run('createPayment', euros(900), CART);
      if (blocked.kind !== 'blocked') throw new Error(blocked.kind);
      // It arrives right before the look-up.
      const first = await blocked.settleFirst();
      expect(first).toMatchObject({ kind: 'settled', value: { amount: { amountMinor: 500 } } });
    });
    expect(server.charges).toHaveLength(1);
  });

  it('go out under the same key once the look-up has found nothing', async () => {
    const { pay, server } = shop(Array(5).fill('dropRequest'));
    await onFakeTime(async () => {
      await pay.run('createPayment', euros(500), CART);
      const blocked = await pay.run('createPayment', euros(900), CART);
      if (blocked.kind !== 'blocked') throw new Error(blocked.kind);
      expect(await blocked.settleFirst()).toMatchObject({ problem: { code: 'NOT_RECEIVED' } });
      expect((await pay.run('createPayment', euros(900), CART)).kind).toBe('settled');
    });
    expect(server.keys()).toHaveLength(1);
    expect(server.charges).toMatchObject([{ input: { amount: { amountMinor: 900 } } }]);
  });

  it('after bad input go out under the same key, which left no trace', async () => {
    const { pay, server } = shop(['badInput']);
    const first = await pay.run('createPayment', euros(0), CART);
    expect(first).toMatchObject({ kind: 'rejected', problem: { code: 'BAD_USER_INPUT' } });
    expect(await pay.unsettled()).toEqual([]);
    expect((await pay.run('createPayment', euros(500), CART)).kind).toBe('settled');
    expect(server.keys()).toHaveLength(1);
  });
});

describe('an old record', () => {
  it('is looked up before it is sent again', async () => {
    const store = memoryStore({ maxAgeMs: 1_000 });
    const { pay, server } = shop(Array(5).fill('dropAnswer'), { store });
    await onFakeTime(async () => {
      expect((await pay.run('createPayment', euros(500), CART)).kind).toBe('unknown');
      const end = await pay.run('createPayment', euros(500), CART);
      expect(end).toMatchObject({ kind: 'settled', replayed: true });
    });
    expect(server.requests.at(-1)?.operationName).toBe('PaymentByKey');
    expect(server.charges).toHaveLength(1);
  });

  it('is sent again with its key if the server never received it', async () => {
    const store = memoryStore({ maxAgeMs: 1_000 });
    const { pay, server } = shop(Array(5).fill('dropRequest'), { store });
    await onFakeTime(async () => {
      expect((await pay.run('createPayment', euros(500), CART)).kind).toBe('unknown');
      expect((await pay.run('createPayment', euros(500), CART)).kind).toBe('settled');
    });
    expect(server.keys()).toHaveLength(1);
    expect(server.requests.map(({ operationName }) => operationName).slice(-2)).toEqual([
      'PaymentByKey',
      'CreatePayment',
    ]);
  });
});

describe('outcomes that are not final', () => {
  it('a pending payment is followed to its end', async () => {
    const { pay, server } = shop(['pending', 'pending', 'pending']);
    await onFakeTime(async () => {
      const first = await pay.run('createPayment', euros(500), CART);
      if (first.kind !== 'processing') throw new Error(first.kind);
      expect(await first.follow()).toMatchObject({ kind: 'settled' });
    });
    expect(server.requests).toHaveLength(4);
    expect(server.charges).toHaveLength(1);
  });

  it('an unknown outcome is resumed with the same key', async () => {
    const { pay, server } = shop(Array(5).fill('dropAnswer'));
    await onFakeTime(async () => {
      const first = await pay.run('createPayment', euros(500), CART);
      if (first.kind !== 'unknown') throw new Error(first.kind);
      expect(first).toMatchObject({ attempts: 5, key: server.keys()[0] });
      expect(await first.resume()).toMatchObject({ kind: 'settled', replayed: true });
    });
    expect(server.charges).toHaveLength(1);
  });

  it('a resumed outcome does not become a new attempt if it was declined meanwhile', async () => {
    const { pay, open, server } = shop([...Array(5).fill('dropRequest'), 'decline']);
    await onFakeTime(async () => {
      const first = await pay.run('createPayment', euros(500), CART);
      if (first.kind !== 'unknown') throw new Error(first.kind);
      expect((await open().run('createPayment', euros(500), CART)).kind).toBe('declined');
      expect((await first.resume()).kind).toBe('declined');
    });
    expect(server.charges).toHaveLength(0);
    expect(server.keys()).toHaveLength(1);
  });

  it('a payment that is in progress for too long is left processing', async () => {
    const server = fakeServer(...Array(5).fill('busy'));
    const { pay } = shop([], { server });
    const end = await onFakeTime(() => pay.run('createPayment', euros(500), CART));
    expect(end).toMatchObject({ kind: 'processing', problem: { code: 'IDEMPOTENCY_IN_PROGRESS' } });
  });
});
