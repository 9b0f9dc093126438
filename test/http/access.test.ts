import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Keys } from '../../src/postgres/administration.ts';
import { as, startWorld, type World } from '../e2e/world.ts';
import { ask, codeOf, eventually, freshKey, paid, pay, type Target } from '../support/pay.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';
import type { TestServer } from '../support/with-server.ts';

let world: World;
let server: TestServer;

beforeAll(async () => {
  world = await startWorld();
  server = await world.server();
}, 120_000);

afterAll(() => world.end(), 60_000);

const PAYMENTS = `query($first: Int, $after: String) { payments(first: $first, after: $after) {
  nodes { id } edges { cursor node { id } }
  pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }`;

describe('who may ask', () => {
  test('nobody without a key, and the idempotency key stays unused', async () => {
    const key = freshKey();
    const refused = await pay(server, key, {}, { authorization: '' });
    expect(refused.status).toBe(401);
    for (const authorization of [
      'Bearer sk_test_wrong',
      `Basic ${server.apiKey}`,
      server.apiKey,
      'Bearer ',
      `Bearer ${server.apiKey}x`,
      `Bearer ${server.apiKey} x`,
    ]) {
      const reply = await pay(server, key, {}, { authorization });
      expect(reply.status).toBe(401);
      expect(codeOf(reply)).toBe('UNAUTHENTICATED');
      expect(reply.headers.get('www-authenticate')).toBe('Bearer');
      expect(JSON.stringify(reply.body)).not.toContain('sk_test');
    }
    expect(await world.rows(key)).toEqual([]);
    expect(paid(await pay(server, key)).idempotency.outcome).toBe('EXECUTED');
    // Nor is anybody told that the key is in use.
    expect((await pay(server, key, {}, { authorization: 'Bearer sk_no' })).status).toBe(401);
    expect((await pay(server, key, { description: 'x' }, { authorization: '' })).status).toBe(401);
  });

  test('without a header at all: 401 for data, and the schema may be read', async () => {
    const bare = async (query: string) => {
      const response = await fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      });
      return { status: response.status, body: (await response.json()) as { data?: unknown } };
    };
    const refused = await bare('{ payments { nodes { id } } }');
    expect(refused.status).toBe(401);
    expect(refused.body.data ?? null).toBeNull();
    expect((await bare('{ __typename }')).status).toBe(200);
    expect((await bare('{ __schema { queryType { name } } }')).status).toBe(200);
    expect((await bare('{ __typename payments { nodes { id } } }')).status).toBe(401);
    expect((await bare('query { ... { payments { nodes { id } } } }')).status).toBe(401);
  });

  test('a key without the scope is refused before the idempotency key is looked at', async () => {
    const reader = as(server, await world.merchant('scoped', ['payments:read']));
    const writer = as(server, await world.merchant('scoped', ['payments:write']));
    const key = freshKey();
    const refused = await pay(reader, key);
    expect(refused.status).toBe(403);
    expect(codeOf(refused)).toBe('FORBIDDEN');
    expect((await ask(reader, PAYMENTS)).status).toBe(200);
    expect((await ask(writer, PAYMENTS)).status).toBe(403);
    expect(await world.rows(key)).toEqual([]);
    expect(paid(await pay(writer, key)).idempotency.outcome).toBe('EXECUTED');
    expect((await pay(reader, key, { description: 'x' })).status).toBe(403);
  });

  test('two keys of one merchant share its idempotency keys', async () => {
    const [one, other] = [
      as(server, await world.merchant('shared')),
      as(server, await world.merchant('shared')),
    ];
    const key = freshKey();
    const first = paid(await pay(one, key));
    expect(paid(await pay(other, key))).toMatchObject({
      payment: { id: first.payment?.id },
      idempotency: { outcome: 'REPLAYED' },
    });
    expect((await pay(other, key, { description: 'x' })).status).toBe(422);
  });

  test('a key that was revoked or has expired ends within a second or so', async () => {
    const keys = new Keys(world.database.url);
    try {
      const scopes = ['payments:read'] as const;
      const expiresAt = new Date(Date.now() + 1_500);
      const [revoked, expiring] = [
        await keys.create({ merchant: 'ending', name: 'a', scopes, expiresAt: null }),
        await keys.create({ merchant: 'ending', name: 'b', scopes, expiresAt }),
      ];
      for (const { key } of [revoked, expiring]) {
        expect((await ask(as(server, key), PAYMENTS)).status).toBe(200);
      }
      expect(await keys.revoke(revoked.id)).toBe(true);
      for (const { key } of [revoked, expiring]) {
        await eventually(
          async () => (await ask(as(server, key), PAYMENTS)).status,
          (status) => status === 401,
          4_000,
        );
      }
    } finally {
      await keys.close();
    }
  });
});

describe('payments', () => {
  let merchant: Target;
  let ids: readonly (string | undefined)[];

  interface Page {
    readonly nodes: readonly { id: string }[];
    readonly edges: readonly { cursor: string; node: { id: string } }[];
    readonly pageInfo: {
      readonly hasNextPage: boolean;
      readonly hasPreviousPage: boolean;
      readonly startCursor: string | null;
      readonly endCursor: string | null;
    };
  }

  const page = async (first?: number | null, after?: string | null): Promise<Page> => {
    const { body } = await ask(merchant, PAYMENTS, { first, after });
    return (body.data as { payments: Page }).payments;
  };

  beforeAll(async () => {
    merchant = as(server, await world.merchant('paging'));
    const made: (string | undefined)[] = [];
    for (let count = 0; count < 7; count += 1) {
      made.unshift(paid(await pay(merchant, freshKey())).payment?.id);
    }
    // One that was never sent is no payment.
    await pay(merchant, freshKey(), { paymentMethod: 'pm_rate_limited_1' });
    ids = made;
  });

  test('come newest first, page by page, also while more arrive', async () => {
    const first = await page(3);
    expect(first.nodes.map(({ id }) => id)).toEqual(ids.slice(0, 3));
    expect(first.edges.map(({ node }) => node)).toEqual(first.nodes);
    expect(first.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: false });
    expect(first.pageInfo.startCursor).toBe(first.edges[0]?.cursor);
    expect(first.pageInfo.endCursor).toBe(first.edges[2]?.cursor);
    const late = paid(await pay(merchant, freshKey())).payment?.id;
    const second = await page(3, first.pageInfo.endCursor);
    expect(second.nodes.map(({ id }) => id)).toEqual(ids.slice(3, 6));
    const last = await page(3, second.pageInfo.endCursor);
    expect(last.nodes.map(({ id }) => id)).toEqual(ids.slice(6));
    expect(last.pageInfo.hasNextPage).toBe(false);
    const past = await page(3, last.pageInfo.endCursor);
    expect(past).toMatchObject({ nodes: [], pageInfo: { hasNextPage: false, endCursor: null } });
    expect((await page(1)).nodes).toEqual([{ id: late }]);
    expect((await page()).nodes).toHaveLength(8);
    expect((await page(null, null)).nodes).toHaveLength(8);
  });

  test('are asked for by one to a hundred, after a cursor of theirs', async () => {
    for (const first of [0, -1, 101, 2_147_483_647]) {
      const reply = await ask(merchant, PAYMENTS, { first });
      expect(reply.status).toBe(400);
      expect(codeOf(reply)).toBe('BAD_USER_INPUT');
      expect(reply.body.errors?.[0]?.message).toContain('first');
    }
    const foreign = Buffer.from('after:0').toString('base64url');
    for (const after of ['', 'x', ids[0], foreign, "' or 1=1 --", '\u0000']) {
      const reply = await ask(merchant, PAYMENTS, { after });
      expect(reply.status).toBe(400);
      expect(codeOf(reply)).toBe('BAD_USER_INPUT');
      expect(reply.body.errors?.[0]?.message).toContain('after');
    }
  });

  test('are found in one of four ways; nothing is found by anything else', async () => {
    const query = 'query($by: PaymentLookup!) { payment(by: $by) { id } }';
    const key = freshKey();
    const transactionId = `T-${key}`;
    const { payment } = paid(await pay(merchant, key, { transactionId }));
    const [row] = await world.sql`
      select psp_reference from journal_entries where idempotency_key = ${key}`;
    const pspReference = row?.['psp_reference'] as string;
    for (const by of [
      { id: payment?.id },
      { transactionId },
      { idempotencyKey: key },
      { pspReference },
    ]) {
      expect((await ask(merchant, query, { by })).body.data).toEqual({
        payment: { id: payment?.id },
      });
    }
    const strangers = [
      { id: 'x' },
      { id: '' },
      { id: Buffer.from('Payment:x').toString('base64url') },
      { id: Buffer.from("Payment:' or 1=1 --").toString('base64url') },
      { transactionId: 'none' },
      { idempotencyKey: 'none' },
      { pspReference: 'none' },
    ];
    for (const by of strangers) {
      expect((await ask(merchant, query, { by })).body).toEqual({ data: { payment: null } });
    }
    for (const by of [{}, { id: payment?.id, transactionId }, { id: null }, { other: 1 }]) {
      const reply = await ask(merchant, query, { by });
      expect(reply.status).toBe(400);
      expect(codeOf(reply)).toBe('BAD_USER_INPUT');
    }
  });
});

describe('the probes', () => {
  const metrics = async (at: { url: string }): Promise<ReadonlyMap<string, number>> => {
    const response = await fetch(`${at.url}/metrics`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
    const lines = (await response.text()).split('\n').filter((line) => /^\w/.test(line));
    return new Map(
      lines.map((line) => {
        const space = line.lastIndexOf(' ');
        return [line.slice(0, space), Number(line.slice(space + 1))] as const;
      }),
    );
  };

  test('say that it lives and is ready', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const response = await fetch(`${server.url}${path}`);
      expect(response.status).toBe(200);
      expect(response.headers.get('cache-control')).toBe('no-store');
      expect((await response.text()).trim()).toBe(path === '/healthz' ? 'alive' : 'ready');
      expect((await fetch(`${server.url}${path}`, { method: 'HEAD' })).status).toBe(200);
    }
  });

  test('count what was executed, replayed, joined, refused and left in doubt', async () => {
    const before = await metrics(server);
    const [key, slow, unknown] = [freshKey(), freshKey(), freshKey()];
    await pay(server, key);
    await pay(server, key);
    await pay(server, key, { description: 'other' });
    await pay(server, '');
    await Promise.all([
      pay(server, slow, { paymentMethod: 'pm_slow_300' }),
      pay(server, slow, { paymentMethod: 'pm_slow_300' }),
    ]);
    await pay(server, unknown, { paymentMethod: 'pm_hang_before' });
    // What is open is asked of the database every two seconds at the most.
    const after = await eventually(
      () => metrics(server),
      (all) => (all.get('semel_open_entries{state="UNKNOWN"}') ?? 0) > 0,
    );
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    expect(grown('semel_answered_total{outcome="executed"}')).toBe(2);
    expect(grown('semel_answered_total{outcome="replayed"}')).toBe(1);
    expect(grown('semel_answered_total{outcome="joined"}')).toBe(1);
    expect(grown('semel_answered_total{outcome="in_doubt"}')).toBe(1);
    expect(grown('semel_refused_total{code="IDEMPOTENCY_KEY_REUSED"}')).toBe(1);
    expect(grown('semel_refused_total{code="IDEMPOTENCY_KEY_INVALID"}')).toBe(1);
    expect(after.get('semel_open_entries{state="UNKNOWN"}')).toBeGreaterThan(0);
    expect(after.get('semel_open_entries{state="PENDING"}')).toBe(0);
    expect(after.get('semel_oldest_unknown_seconds')).toBeGreaterThan(0);
    const text = [...after.keys()].join('\n');
    expect(text).not.toContain(key);
    expect(text).not.toContain(server.apiKey);
  });

  describe('when the database is gone', () => {
    let proxy: FaultProxy;
    let behind: TestServer;

    beforeAll(async () => {
      const url = new URL(world.database.url);
      proxy = await startProxy(Number(url.port));
      url.hostname = '127.0.0.1';
      url.port = String(proxy.port);
      behind = await world.server({ DATABASE_URL: url.href, RATE_LIMIT_PER_SECOND: '10' });
    }, 60_000);

    afterAll(() => proxy.close());

    test('it lives and is not ready; nobody hangs, nothing is executed, and it comes back', async () => {
      const key = freshKey();
      expect(paid(await pay(behind, freshKey())).payment?.status).toBe('CAPTURED');
      await proxy.set('refuse');
      const startedAt = performance.now();
      const [paying, asking, ready, alive, counting] = await Promise.all([
        pay(behind, key),
        ask(behind, PAYMENTS),
        fetch(`${behind.url}/readyz`),
        fetch(`${behind.url}/healthz`),
        fetch(`${behind.url}/metrics`),
      ]);
      expect(performance.now() - startedAt).toBeLessThan(6_000);
      for (const reply of [paying, asking]) {
        expect(reply.status).toBe(503);
        expect(codeOf(reply)).toBe('IDEMPOTENCY_UNAVAILABLE');
        expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(JSON.stringify(reply.body)).not.toMatch(/ECONNREFUSED|127\.0\.0\.1|postgres/i);
      }
      expect(ready.status).toBe(503);
      expect(await ready.text()).not.toMatch(/ECONNREFUSED|127\.0\.0\.1/);
      expect(alive.status).toBe(200);
      expect(counting.status).toBe(200);
      expect(await counting.text()).toContain('semel_answered_total');
      expect(await world.requests(key)).toEqual([]);

      await proxy.set('pass');
      await eventually(
        () => fetch(`${behind.url}/readyz`).then(({ status }) => status),
        (status) => status === 200,
      );
      const done = await eventually(
        () => pay(behind, key),
        ({ status }) => status === 200,
      );
      expect(paid(done).payment?.status).toBe('CAPTURED');
      expect(await world.executions(key)).toHaveLength(1);
    }, 40_000);

    test('a database that stalls is one that is gone', async () => {
      const key = freshKey();
      await proxy.set('stall');
      const startedAt = performance.now();
      const [paying, ready] = await Promise.all([pay(behind, key), fetch(`${behind.url}/readyz`)]);
      expect(performance.now() - startedAt).toBeLessThan(6_000);
      expect(paying.status).toBe(503);
      expect(ready.status).toBe(503);
      await proxy.set('pass');
      const done = await eventually(
        () => pay(behind, key),
        ({ status }) => status === 200,
      );
      expect(paid(done).payment?.status).toBe('CAPTURED');
      expect(await world.executions(key)).toHaveLength(1);
    }, 40_000);

    test('over its rate a key is told to wait, and no idempotency key is used up', async () => {
      const hasty = as(behind, await world.merchant('hasty'));
      const keys = Array.from({ length: 150 }, freshKey);
      const replies = await Promise.all(
        keys.map(async (key) => ({ key, reply: await pay(hasty, key) })),
      );
      const limited = replies.filter(({ reply }) => reply.status === 429);
      expect(limited.length).toBeGreaterThan(0);
      for (const { key, reply } of limited) {
        expect(codeOf(reply)).toBe('RATE_LIMITED');
        expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
        expect(await world.rows(key)).toEqual([]);
      }
      // Another key, and this one at another server, are not limited by it.
      expect((await ask(as(behind, await world.merchant('other')), PAYMENTS)).status).toBe(200);
      const again = limited[0]?.key ?? '';
      expect(paid(await pay(as(server, hasty.apiKey), again)).idempotency).toMatchObject({
        outcome: 'EXECUTED',
        attempt: 1,
      });
    });
  });
});
