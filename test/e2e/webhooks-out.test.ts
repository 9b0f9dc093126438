import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  createEndpoint,
  deleteEndpoint,
  deliveries,
  endpoints,
  newSealingKey,
  ping,
  rotateSecret,
  tryCreate,
  tryPing,
  tryRedeliver,
  tryRotate,
  tryUpdate,
  updateEndpoint,
} from '../support/endpoints.ts';
import { ask, codeOf, eventually, freshKey, paid, pay, type Target } from '../support/pay.ts';
import { idOf, type Receiver, startReceiver, status, verified } from '../support/receiver.ts';
import type { TestServer } from '../support/with-server.ts';
import { as, startWorld, type World } from './world.ts';

const LOGIN = `tells_${Math.random().toString(36).slice(2)}`;
const RETRIES = { WEBHOOK_RETRY_DELAYS_MS: '200,400,600', WEBHOOK_TIMEOUT_MS: '2000' };

let world: World;
let server: TestServer;
let merchants = 0;
const receivers: Receiver[] = [];

/** The server may only serve: what it takes to deliver is within that. */
beforeAll(async () => {
  world = await startWorld({ WEBHOOK_SECRET_KEY: newSealingKey(), ...RETRIES });
  await (await world.server()).stop();
  await world.sql.unsafe(`create role ${LOGIN} login password 'tells' in role semel_app`);
  const url = new URL(world.database.url);
  url.username = LOGIN;
  url.password = 'tells';
  server = await world.server({ DATABASE_URL: url.href });
}, 120_000);

afterEach(async () => {
  await Promise.all(receivers.splice(0).map((one) => one.close()));
});

afterAll(() => world?.end(), 60_000);

async function receiver(): Promise<Receiver> {
  const one = await startReceiver();
  receivers.push(one);
  return one;
}

const merchant = async (): Promise<Target> => {
  merchants += 1;
  return as(server, await world.merchant(`merchant ${merchants}`));
};

/** The last delivery to an endpoint, once it is as it should be. */
const delivery = (target: Target, id: string, right: object) =>
  eventually(
    async () => (await deliveries(target, id))?.[0],
    (one) =>
      Object.entries(right).every(([name, value]) => one?.[name as keyof typeof one] === value),
  );

test('a payment is told, signed, once, and says what it is about', async () => {
  const target = await merchant();
  const shop = await receiver();
  const { endpoint, secret } = await createEndpoint(target, shop.url);
  const { payment } = paid(await pay(target, freshKey(), { transactionId: 'order-1' }));
  const [received] = await shop.got(1);
  if (received === undefined) throw new Error('nothing came');
  const message = verified(received, secret);
  expect(message).toMatchObject({
    type: 'charge.succeeded',
    data: {
      paymentId: payment?.id,
      paymentVersion: 2,
      operation: 'CHARGE',
      amount: { amountMinor: 1_050, currency: 'EUR' },
      transactionId: 'order-1',
    },
  });
  expect(() => verified({ ...received, body: `${received.body} ` }, secret)).toThrow();
  const events = await ask(target, '{ paymentEvents { nodes { id createdAt } } }');
  expect(events.body.data).toEqual({
    paymentEvents: { nodes: [{ id: idOf(received), createdAt: message.timestamp }] },
  });
  const told = await delivery(target, endpoint.id, { status: 'DELIVERED' });
  expect(told).toMatchObject({
    webhookId: idOf(received),
    attemptCount: 1,
    nextAttemptAt: null,
    attempts: { nodes: [{ number: 1, result: 'DELIVERED', httpStatus: 204 }] },
  });
  expect(shop.received).toHaveLength(1);
});

test('after a 500 it comes again under the same id, and what was answered can be read', async () => {
  const target = await merchant();
  const shop = await receiver();
  const { endpoint, secret } = await createEndpoint(target, shop.url);
  shop.answer((received, response) => {
    const leak = `${received.headers['webhook-signature']} ${secret} sk_live_123456 out of order`;
    return status(shop.received.length < 3 ? 500 : 200, {}, leak)(received, response);
  });
  paid(await pay(target, freshKey()));
  const received = await shop.got(3);
  expect(new Set(received.map(idOf)).size).toBe(1);
  for (const one of received) verified(one, secret);
  const { attempts } = (await delivery(target, endpoint.id, { status: 'DELIVERED' })) ?? {};
  expect(attempts?.nodes.map(({ result }) => result)).toEqual([
    'DELIVERED',
    'HTTP_ERROR',
    'HTTP_ERROR',
  ]);
  expect(attempts?.nodes.at(-1)?.response).toBe('[redacted] [redacted] [redacted] out of order');
});

test('asked for again, it comes again under the same id', async () => {
  const target = await merchant();
  const shop = await receiver();
  const { endpoint } = await createEndpoint(target, shop.url);
  paid(await pay(target, freshKey()));
  const done = await delivery(target, endpoint.id, { status: 'DELIVERED' });
  await tryRedeliver(target, done?.id ?? '');
  const received = await shop.got(2);
  expect(new Set(received.map(idOf))).toEqual(new Set([done?.webhookId]));
  await delivery(target, endpoint.id, { status: 'DELIVERED', attemptCount: 2 });
});

test('of a rotated secret both sign; of a revoked one only the new', async () => {
  const target = await merchant();
  const shop = await receiver();
  const { endpoint, secret: first } = await createEndpoint(target, shop.url);
  const { secret: second, previousUntil } = await rotateSecret(target, { id: endpoint.id });
  expect(Date.parse(previousUntil ?? '') - Date.now()).toBeGreaterThan(80_000_000);
  await ping(target, endpoint.id);
  const [one] = await shop.got(1);
  if (one === undefined) throw new Error('nothing came');
  for (const secret of [first, second]) expect(verified(one, secret).type).toBe('webhook.ping');
  expect(String(one.headers['webhook-signature']).split(' ')).toHaveLength(2);

  const { secret: third } = await rotateSecret(target, { id: endpoint.id, revokePrevious: true });
  await ping(target, endpoint.id);
  const [, two] = await shop.got(2);
  if (two === undefined) throw new Error('nothing came');
  verified(two, third);
  for (const secret of [first, second]) expect(() => verified(two, secret)).toThrow();
  for (let more = 1; more < 5; more += 1) await rotateSecret(target, { id: endpoint.id });
  expect(codeOf(await tryRotate(target, { id: endpoint.id }))).toBe('BAD_USER_INPUT');
});

test('no secret can be read from the database', async () => {
  const target = await merchant();
  const { secret } = await createEndpoint(target, 'https://shop.example/hooks');
  const rows = await world.sql`select s.*::text as row from webhook_secrets s`;
  const raw = Buffer.from(secret.replace('whsec_', ''), 'base64').toString('hex');
  expect(JSON.stringify(rows)).not.toContain(secret);
  expect(JSON.stringify(rows)).not.toContain(raw);
});

test('what takes nothing for a whole schedule is disabled; enabled, it gets what was missed', async () => {
  const target = await merchant();
  const shop = await receiver();
  shop.answer(status(500));
  const { endpoint, secret } = await createEndpoint(target, shop.url);
  paid(await pay(target, freshKey()));
  const given = await delivery(target, endpoint.id, { status: 'FAILED' });
  expect(given).toMatchObject({ attemptCount: 4, nextAttemptAt: null });
  expect(await endpoints(target)).toMatchObject([{ enabled: false, disabledReason: 'FAILING' }]);
  expect(codeOf(await tryPing(target, endpoint.id))).toBe('BAD_USER_INPUT');
  const { payment } = paid(await pay(target, freshKey()));
  expect(shop.received).toHaveLength(4);
  shop.answer(status(200));
  expect(await updateEndpoint(target, { id: endpoint.id, enabled: true })).toMatchObject({
    enabled: true,
    disabledReason: null,
    failingSince: null,
  });
  const received = await shop.got(5);
  expect(verified(received[4] as never, secret).data['paymentId']).toBe(payment?.id);
}, 60_000);

test('410 disables at once; 3xx is not followed', async () => {
  const target = await merchant();
  const [gone, moved, elsewhere] = [await receiver(), await receiver(), await receiver()];
  gone.answer(status(410));
  moved.answer(status(307, { location: elsewhere.url }));
  const { endpoint: first } = await createEndpoint(target, gone.url);
  const { endpoint: second } = await createEndpoint(target, moved.url);
  paid(await pay(target, freshKey()));
  await delivery(target, first.id, { status: 'FAILED', attemptCount: 1 });
  expect((await endpoints(target)).find(({ id }) => id === first.id)).toMatchObject({
    disabledReason: 'GONE',
  });
  const given = await delivery(target, second.id, { status: 'FAILED' });
  expect(given?.attempts.nodes.map(({ result }) => result)).toEqual(Array(4).fill('REDIRECTED'));
  expect(elsewhere.received).toHaveLength(0);
}, 60_000);

test('another merchant sees nothing of it, and cannot touch it', async () => {
  const target = await merchant();
  const other = await merchant();
  const [shop, theirs] = [await receiver(), await receiver()];
  const { endpoint } = await createEndpoint(target, shop.url);
  await createEndpoint(other, theirs.url);
  paid(await pay(target, freshKey()));
  const done = await delivery(target, endpoint.id, { status: 'DELIVERED' });
  expect(await endpoints(other)).toHaveLength(1);
  expect(await deliveries(other, endpoint.id)).toBeNull();
  const node = await ask(other, 'query($id: ID!) { node(id: $id) { id } }', { id: done?.id });
  expect(node.body.data).toEqual({ node: null });
  const { id } = endpoint;
  const tries = [
    tryUpdate(other, { id, enabled: false }),
    deleteEndpoint(other, id),
    tryRotate(other, { id }),
    tryPing(other, id),
    tryRedeliver(other, done?.id ?? ''),
  ];
  for (const reply of await Promise.all(tries)) expect(codeOf(reply)).toBe('BAD_USER_INPUT');
  expect(theirs.received).toHaveLength(0);
  expect(shop.received).toHaveLength(1);
});

test('only the types that were asked for; changed and deleted', async () => {
  const target = await merchant();
  const shop = await receiver();
  const { endpoint, secret } = await createEndpoint(target, shop.url, {
    eventTypes: ['charge.declined', 'refund.*'],
    description: 'refunds',
  });
  paid(await pay(target, freshKey()));
  paid(await pay(target, freshKey(), { paymentMethod: 'pm_declined' }));
  const [received] = await shop.got(1);
  expect(verified(received as never, secret).type).toBe('charge.declined');
  const changed = await updateEndpoint(target, { id: endpoint.id, eventTypes: null });
  expect(changed).toMatchObject({ eventTypes: null, description: 'refunds', enabled: true });
  paid(await pay(target, freshKey()));
  await shop.got(2);
  expect((await deleteEndpoint(target, endpoint.id)).body.data).toEqual({
    webhookEndpointDelete: { deletedId: endpoint.id },
  });
  expect((await deleteEndpoint(target, endpoint.id)).body.errors).toBeUndefined();
  expect(await endpoints(target)).toEqual([]);
  expect(codeOf(await tryPing(target, endpoint.id))).toBe('BAD_USER_INPUT');
});

test('a URL has one endpoint, a merchant 16, and each refusal says why', async () => {
  const target = await merchant();
  const { endpoint } = await createEndpoint(target, 'https://a.example/x');
  const twice = await tryCreate(target, { url: 'https://A.example:443/x' });
  expect(twice.body.errors?.[0]?.message).toContain(endpoint.id);
  const { endpoint: other } = await createEndpoint(target, 'https://b.example/');
  expect(codeOf(await tryUpdate(target, { id: other.id, url: 'https://a.example/x' }))).toBe(
    'BAD_USER_INPUT',
  );
  for (let more = 2; more < 16; more += 1) {
    await createEndpoint(target, `https://c.example/${more}`);
  }
  const many = await tryCreate(target, { url: 'https://d.example/' });
  expect(many.body.errors?.[0]?.message).toContain('16');
  for (const input of [
    { url: 'http://a.example/' },
    { url: 'https://10.0.0.1/' },
    { url: 'https://e.example/', eventTypes: [] },
    { url: 'https://e.example/', eventTypes: ['DROP TABLE'] },
    { url: 'https://e.example/', description: 'x'.repeat(256) },
  ]) {
    const reply = await tryCreate(target, input);
    expect([reply.status, codeOf(reply)]).toEqual([400, 'BAD_USER_INPUT']);
  }
});

test('the metrics count attempts, and the log holds no secret', async () => {
  const text = await (await fetch(`${server.url}/metrics`)).text();
  expect(text).toMatch(/semel_webhook_attempts_total\{result="delivered"\} [1-9]/);
  expect(text).toMatch(/semel_webhook_attempts_total\{result="http_error"\} [1-9]/);
  expect(text).toMatch(/semel_webhook_endpoints_disabled_total\{reason="gone"\} 1/);
  expect(server.output()).not.toMatch(/whsec_|v1,/);
});
