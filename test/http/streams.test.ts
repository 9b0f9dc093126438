import { createClient } from 'graphql-sse';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Keys } from '../../src/postgres/administration.ts';
import { as, startWorld, type World } from '../e2e/world.ts';
import { ask, codeOf, eventually, freshKey, paid, pay, type Target } from '../support/pay.ts';
import { listen, rawSubscribe } from '../support/sse.ts';
import type { TestServer } from '../support/with-server.ts';

let world: World;
let server: TestServer;

beforeAll(async () => {
  world = await startWorld({ MAX_SUBSCRIPTIONS: '6', MAX_SUBSCRIPTIONS_PER_MERCHANT: '3' });
  server = await world.server();
}, 120_000);

afterAll(() => world.end(), 60_000);

const EVENTS = `subscription($after: String) {
  paymentEvents(after: $after) { id type cursor paymentVersion payment { id status version } entry { operation state } createdAt } }`;
const UPDATED = `subscription($id: ID!, $since: Int) {
  paymentUpdated(id: $id, sinceVersion: $since) { id status version } }`;
const PAGE = `query($after: String, $first: Int) { paymentEvents(after: $after, first: $first) {
  nodes { id type cursor payment { id } } edges { cursor } pageInfo { hasNextPage endCursor } } }`;

interface Page {
  readonly nodes: readonly {
    readonly id: string;
    readonly type: string;
    readonly cursor: string;
    readonly payment: { id: string };
  }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
}
async function page(target: Target, variables: object = {}): Promise<Page> {
  const { body } = await ask(target, PAGE, variables);
  return (body.data as { paymentEvents: Page }).paymentEvents;
}
let merchants = 0;
async function merchant(): Promise<Target> {
  merchants += 1;
  return as(server, await world.merchant(`streams ${merchants}`));
}
async function payOnce(target: Target, more: object = {}): Promise<string> {
  return paid(await pay(target, freshKey(), { ...more })).payment?.id as string;
}
type Event = {
  readonly id: string;
  readonly type: string;
  readonly cursor: string;
  readonly payment: { readonly id: string };
};
const eventsOf = (stream: Awaited<ReturnType<typeof listen>>) =>
  stream.results().map(({ data }) => data?.['paymentEvents'] as Event);

describe('the query paymentEvents', () => {
  test('shows at once what has just been paid, oldest first, by the same cursors as the stream', async () => {
    const shop = await merchant();
    const empty = await page(shop);
    expect(empty.nodes).toEqual([]);
    const made: string[] = [];
    for (let at = 0; at < 5; at += 1) {
      made.push(await payOnce(shop));
      expect((await page(shop)).nodes.map(({ payment }) => payment.id)).toEqual(made);
    }
    const first = await page(shop, { first: 2, after: empty.pageInfo.endCursor });
    expect(first.pageInfo.hasNextPage).toBe(true);
    const rest = await page(shop, { after: first.pageInfo.endCursor });
    expect([...first.nodes, ...rest.nodes].map(({ payment }) => payment.id)).toEqual(made);
    expect(rest.nodes.every(({ type }) => type === 'charge.succeeded')).toBe(true);
    const stream = await listen(shop, {
      query: EVENTS,
      variables: { after: first.pageInfo.endCursor },
    });
    await eventually(
      async () => stream.results().length,
      (count) => count === 3,
    );
    expect(eventsOf(stream).map(({ id }) => id)).toEqual(rest.nodes.map(({ id }) => id));
    stream.close();
  }, 30_000);
});

describe('the subscription paymentEvents', () => {
  test('sends each event with its cursor as id, and goes on after Last-Event-ID', async () => {
    const shop = await merchant();
    await payOnce(shop);
    const stream = await listen(shop, { query: EVENTS });
    expect(stream.status).toBe(200);
    expect(stream.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(stream.headers.get('x-accel-buffering')).toBe('no');
    expect(stream.headers.get('cache-control')).toContain('no-store');
    await eventually(
      async () => stream.frames.length,
      (count) => count === 1,
    );
    const second = await payOnce(shop, { captureMode: 'MANUAL' });
    await eventually(
      async () => stream.results().length,
      (count) => count === 1,
    );
    const [event] = eventsOf(stream);
    expect(event).toMatchObject({ type: 'authorize.succeeded', payment: { id: second } });
    expect(stream.frames.at(-1)?.id).toBe(event?.cursor);
    stream.close();
    const third = await payOnce(shop);
    const again = await listen(shop, {
      query: EVENTS,
      headers: { 'last-event-id': event?.cursor as string },
    });
    await eventually(
      async () => again.results().length,
      (count) => count === 1,
    );
    expect(eventsOf(again)[0]?.payment.id).toBe(third);
    again.close();
  }, 30_000);

  test('a stream that had nothing yet goes on from where it began', async () => {
    const shop = await merchant();
    const stream = await listen(shop, { query: EVENTS });
    await eventually(
      async () => stream.frames.length,
      (count) => count === 1,
    );
    const { id } = stream.frames[0] ?? {};
    stream.close();
    const made = await payOnce(shop);
    const again = await listen(shop, { query: EVENTS, headers: { 'last-event-id': id as string } });
    await eventually(
      async () => again.results().length,
      (count) => count === 1,
    );
    expect(eventsOf(again)[0]?.payment.id).toBe(made);
    again.close();
  }, 30_000);

  test('comes by GET, too', async () => {
    const shop = await merchant();
    const search = new URLSearchParams({ query: EVENTS, variables: '{}' });
    const abort = new AbortController();
    const response = await fetch(`${shop.url}/graphql?${search}`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${shop.apiKey}` },
      signal: abort.signal,
    });
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    abort.abort();
  });

  test('never shows an event of another merchant, nor takes its cursor', async () => {
    const [shop, other] = [await merchant(), await merchant()];
    const stream = await listen(shop, { query: EVENTS });
    await payOnce(other);
    const own = await payOnce(shop);
    await eventually(
      async () => stream.results().length,
      (count) => count >= 1,
    );
    expect(eventsOf(stream).map(({ payment }) => payment.id)).toEqual([own]);
    stream.close();
    const { cursor } = (await page(other)).nodes[0] as { cursor: string };
    for (const after of [
      cursor,
      'nonsense',
      '',
      cursorBeyond(eventsOf(stream)[0]?.cursor as string),
    ]) {
      const refused = await listen(shop, { query: EVENTS, variables: { after } });
      expect(refused.status, after).toBe(400);
      expect(refused.refused).toContain('BAD_USER_INPUT');
      expect(codeOf(await ask(shop, PAGE, { after })), after).toBe('BAD_USER_INPUT');
    }
    const byHeader = await listen(shop, { query: EVENTS, headers: { 'last-event-id': cursor } });
    expect(byHeader.status).toBe(400);
  }, 30_000);
});

/** Well formed, of the same merchant, and further than its line reaches. */
function cursorBeyond(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString().replace(/\d+$/, '999');
  return Buffer.from(text).toString('base64url');
}

describe('the subscription paymentUpdated', () => {
  test('answers at once what is beyond sinceVersion, and every change from then on', async () => {
    const shop = await merchant();
    const id = await payOnce(shop, { captureMode: 'MANUAL' });
    const fresh = await listen(shop, { query: UPDATED, variables: { id } });
    await eventually(
      async () => fresh.results().length,
      (count) => count === 1,
    );
    const versionsOf = (stream: Awaited<ReturnType<typeof listen>>) =>
      stream
        .results()
        .flatMap(({ data }) => (data?.['paymentUpdated'] as { version: number } | undefined) ?? [])
        .map(({ version }) => version);
    const version = versionsOf(fresh)[0] as number;
    const late = await listen(shop, { query: UPDATED, variables: { id, since: version } });
    const capture = `mutation($key: IdempotencyKey!, $input: CapturePaymentInput!) {
      capturePayment(idempotencyKey: $key, input: $input) { payment { status version } } }`;
    await ask(shop, capture, { key: freshKey(), input: { paymentId: id } });
    for (const stream of [fresh, late]) {
      const seen = () =>
        stream
          .results()
          .map(({ data }) => data?.['paymentUpdated'] as { status: string; version: number });
      await eventually(
        async () => seen().at(-1)?.status,
        (status) => status === 'CAPTURED',
      );
      const versions = versionsOf(stream);
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
    }
    expect(versionsOf(late)[0]).toBeGreaterThan(version);
    fresh.close();
    late.close();
  }, 30_000);

  test('another merchant finds no such payment', async () => {
    const id = await payOnce(await merchant());
    const refused = await listen(await merchant(), { query: UPDATED, variables: { id } });
    expect(refused.status).toBe(400);
  });
});

describe('what is refused', () => {
  test.each([
    ['no key', '', EVENTS, {}, 401, 'UNAUTHENTICATED'],
    ['a wrong key', 'sk_wrong_key', EVENTS, {}, 401, 'UNAUTHENTICATED'],
    ['no such field', undefined, 'subscription { nothing }', {}, 400, 'GRAPHQL_VALIDATION_FAILED'],
    [
      'two fields',
      undefined,
      'subscription { a: paymentEvents { id } b: paymentEvents { id } }',
      {},
      400,
      'GRAPHQL_VALIDATION_FAILED',
    ],
    ['no GraphQL', undefined, 'subscription {', {}, 400, 'GRAPHQL_PARSE_FAILED'],
    ['wrong variables', undefined, UPDATED, {}, 400, 'BAD_USER_INPUT'],
    ['a query', undefined, '{ ledgerHealth { outboxLag } }', {}, 400, 'BAD_REQUEST'],
    ['no query', undefined, '', {}, 400, 'BAD_REQUEST'],
  ])('%s', async (_name, apiKey, query, variables, status, code) => {
    const target = as(server, apiKey ?? server.apiKey);
    const refused = await listen(target, { query, variables });
    expect(refused.status).toBe(status);
    expect(JSON.parse(refused.refused).errors[0].extensions.code).toBe(code);
  });

  test('a mutation is not run', async () => {
    const key = freshKey();
    const query = `mutation { createPayment(idempotencyKey: "${key}", input: { amount: { amountMinor: 1, currency: "EUR" }, paymentMethod: "pm_ok" }) { payment { id } } }`;
    expect((await listen(server, { query })).status).toBe(400);
    const search = new URLSearchParams({ query });
    const byGet = await fetch(`${server.url}/graphql?${search}`, {
      headers: { accept: 'text/event-stream', authorization: `Bearer ${server.apiKey}` },
    });
    expect(byGet.status).toBe(400);
    expect(await world.rows(key)).toEqual([]);
  });

  test('a subscription in an ordinary request is told where to go', async () => {
    const reply = await ask(server, EVENTS);
    expect(reply.status).toBe(400);
    expect(codeOf(reply)).toBe('BAD_REQUEST');
    expect(reply.body.errors?.[0]?.message).toContain('text/event-stream');
  });

  test('a key that may only write', async () => {
    const target = as(server, await world.merchant('writers', ['payments:write']));
    expect((await listen(target, { query: EVENTS })).status).toBe(403);
  });
});

describe('limits', () => {
  test('of one merchant and of the process; who leaves makes room', async () => {
    const [one, two, three] = [await merchant(), await merchant(), await merchant()];
    const open = async (target: Target) => listen(target, { query: EVENTS });
    const held = [await open(one), await open(one), await open(one)];
    const refused = await open(one);
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    held.push(await open(two), await open(two), await open(two));
    expect((await open(three)).status).toBe(503);
    const metrics = async () => (await fetch(`${server.url}/metrics`)).text();
    expect(await metrics()).toContain('semel_open_streams 6');
    for (const stream of held) stream.close();
    await eventually(metrics, (text) => text.includes('semel_open_streams 0'));
    const again = await open(three);
    expect(again.status).toBe(200);
    again.close();
  }, 30_000);

  test('a revoked key ends its stream with a last word', async () => {
    const shop = await merchant();
    const stream = await listen(shop, { query: EVENTS });
    const keys = new Keys(world.database.url);
    const own = (await keys.list()).find(({ merchant: name }) => name === `streams ${merchants}`);
    await keys.revoke(own?.id as string);
    await keys.close();
    await stream.ended;
    expect(stream.frames.at(-1)?.event).toBe('complete');
    expect(stream.results().at(-1)?.errors?.[0]?.extensions['code']).toBe('UNAUTHENTICATED');
  }, 30_000);
});

test('without Redis events still arrive', async () => {
  const alone = await world.server({ REDIS_URL: 'redis://127.0.0.1:1' });
  const shop = await merchant();
  const there = as(alone, shop.apiKey);
  const stream = await listen(there, { query: EVENTS });
  await eventually(
    async () => stream.frames.length,
    (count) => count === 1,
  );
  const made = await payOnce(shop);
  await eventually(
    async () => stream.results().length,
    (count) => count === 1,
  );
  expect(eventsOf(stream)[0]?.payment.id).toBe(made);
  stream.close();
  await alone.stop();
}, 60_000);

test('a server that stops cuts its streams off without a last word, and at once', async () => {
  const stopping = await world.server();
  const stream = await listen(as(stopping, (await merchant()).apiKey), { query: EVENTS });
  await eventually(
    async () => stream.frames.length,
    (count) => count === 1,
  );
  expect(await stopping.stop()).toBe(0);
  await stream.ended;
  expect(stream.frames.map(({ event }) => event)).toEqual([undefined]);
  expect(stopping.output()).not.toContain('work under way');
}, 60_000);

test('byte for byte: a chunked answer whose frames arrive as they are made', async () => {
  const shop = await merchant();
  const socket = await rawSubscribe(shop, 'subscription { paymentEvents { type } }');
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  await eventually(
    async () => text,
    (seen) => seen.includes('id: '),
  );
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(text).toMatch(/transfer-encoding: chunked/i);
  await payOnce(shop);
  await eventually(
    async () => text,
    (seen) => seen.includes('event: next'),
  );
  expect(text).toContain('data: {"data":{"paymentEvents":{"type":"charge.succeeded"}}}\n\n');
  socket.destroy();
}, 30_000);

test('the client of graphql-sse reads it, and comes back by itself', async () => {
  const shop = await merchant();
  const client = createClient({
    url: `${shop.url}/graphql`,
    headers: { authorization: `Bearer ${shop.apiKey}` },
  });
  const { endCursor } = (await page(shop)).pageInfo;
  const made = [await payOnce(shop), await payOnce(shop)];
  const events = client.iterate<{ paymentEvents: Event }>({
    query: EVENTS,
    variables: { after: endCursor },
  });
  const seen: string[] = [];
  for await (const { data } of events) {
    seen.push(data?.paymentEvents.payment.id as string);
    if (seen.length === made.length) break;
  }
  expect(seen).toEqual(made);
  client.dispose();
}, 30_000);
