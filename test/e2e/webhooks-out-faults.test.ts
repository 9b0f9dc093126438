import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createEndpoint, deliveries, newSealingKey } from '../support/endpoints.ts';
import { eventually, freshKey, paid, pay, type Target } from '../support/pay.ts';
import { idOf, type Receiver, startReceiver, status, verified } from '../support/receiver.ts';
import { startTestPostgres } from '../support/with-postgres.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import { as, QUICK, startWorld, type World } from './world.ts';

const RETRIES = { WEBHOOK_RETRY_DELAYS_MS: '200,1000,1000,1000,1000', WEBHOOK_TIMEOUT_MS: '2000' };
const KEY = newSealingKey();

let world: World;
let servers: TestServer[] = [];
let merchants = 0;
const receivers: Receiver[] = [];

beforeAll(async () => {
  world = await startWorld({ WEBHOOK_SECRET_KEY: KEY, ...RETRIES });
}, 120_000);

afterEach(async () => {
  await Promise.all(servers.map((one) => one.stop()));
  servers = [];
  await Promise.all(receivers.splice(0).map((one) => one.close()));
}, 60_000);

afterAll(() => world?.end(), 60_000);

async function serve(env: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  const server = await world.server(env);
  servers.push(server);
  return server;
}

async function receiver(): Promise<Receiver> {
  const one = await startReceiver();
  receivers.push(one);
  return one;
}

const merchant = async (server: Target): Promise<Target> => {
  merchants += 1;
  return as(server, await world.merchant(`merchant ${merchants}`));
};

const pays = async (target: Target, count: number) => {
  for (let i = 0; i < count; i += 1) paid(await pay(target, freshKey()));
};

test('two processes deliver every event once', async () => {
  const pair = [await serve(), await serve()];
  const target = await merchant(pair[0] as TestServer);
  const shop = await receiver();
  const { endpoint, secret } = await createEndpoint(target, shop.url);
  const at = (turn: number): Target => ({ ...target, url: pair[turn % 2]?.url ?? '' });
  await Promise.all(
    Array.from({ length: 10 }, async (_, lane) => {
      for (let i = 0; i < 10; i += 1) paid(await pay(at(lane + i), freshKey()));
    }),
  );
  const received = await shop.got(100);
  for (const one of received) verified(one, secret);
  await eventually(
    async () =>
      world.sql`select from webhook_deliveries
        where endpoint_id = ${own(endpoint.id)} and status = 'DELIVERED'`,
    (rows) => rows.length === 100,
  );
  expect(new Set(received.map(idOf)).size).toBe(100);
  expect(shop.received).toHaveLength(100);
}, 60_000);

/** The id that the database has. */
const own = (globalId: string): string =>
  Buffer.from(globalId, 'base64url').toString().split(':')[1] ?? '';

test('killed (-9) with a delivery under way: after a restart it comes again, under its id', async () => {
  const server = await serve();
  const target = await merchant(server);
  const shop = await receiver();
  shop.answer(() => {});
  await createEndpoint(target, shop.url);
  await pays(target, 1);
  await shop.got(1);
  await server.kill();
  servers = [];
  shop.answer(status(200));
  const killedAt = Date.now();
  await serve();
  const received = await shop.got(2, 60_000);
  expect(Date.now() - killedAt).toBeLessThan(60_000);
  expect(idOf(received[1] as never)).toBe(idOf(received[0] as never));
}, 120_000);

test('killed (-9) beside another process: that one goes on', async () => {
  const [doomed, other] = [await serve(), await serve({ WEBHOOK_SECRET_KEY: '' })];
  const target = await merchant(other);
  const shop = await receiver();
  shop.answer(() => {});
  await createEndpoint({ ...target, url: doomed.url }, shop.url);
  await pays(target, 1);
  await shop.got(1);
  const heir = await serve();
  await doomed.kill();
  servers = [other, heir];
  shop.answer(status(200));
  await shop.got(2, 60_000);
}, 120_000);

test('what happened while nobody delivered is delivered later', async () => {
  const first = await serve();
  const target = await merchant(first);
  const shop = await receiver();
  const { secret } = await createEndpoint(target, shop.url);
  await first.stop();
  servers = [];
  const deaf = await serve({ WEBHOOK_SECRET_KEY: '' });
  await pays({ ...target, url: deaf.url }, 3);
  // At once, so that the last event has no position yet, most likely.
  await deaf.kill();
  servers = [];
  expect(shop.received).toHaveLength(0);
  await serve();
  const received = await shop.got(3);
  expect(new Set(received.map((one) => verified(one, secret).data['eventId'])).size).toBe(3);
}, 60_000);

test('endpoints that never answer hold up no other one', async () => {
  const server = await serve({ WEBHOOK_TIMEOUT_MS: '10000' });
  const [slow, other] = [await merchant(server), await merchant(server)];
  const [stuck, shop] = [await receiver(), await receiver()];
  stuck.answer(() => {});
  for (let i = 0; i < 12; i += 1) await createEndpoint(slow, `${stuck.url}/${i}`);
  await createEndpoint(other, shop.url);
  await pays(slow, 20);
  await stuck.got(12);
  const beganAt = Date.now();
  await pays(other, 20);
  await shop.got(20, 5_000);
  expect(Date.now() - beganAt).toBeLessThan(5_000);
  // One look at each, and each in a few lanes: not everything that waits.
  expect(stuck.received.length).toBeLessThanOrEqual(12 * 4);
}, 60_000);

test('an event that its endpoint cannot take holds up no other event', async () => {
  const target = await merchant(await serve());
  const shop = await receiver();
  const { endpoint } = await createEndpoint(target, shop.url);
  shop.answer(({ body }, response) =>
    response.writeHead(body.includes('charge.declined') ? 500 : 200).end(),
  );
  paid(await pay(target, freshKey(), { paymentMethod: 'pm_declined' }));
  await shop.got(1);
  await pays(target, 5);
  await eventually(
    async () => await deliveries(target, endpoint.id),
    (all) => all?.filter(({ status: stands }) => stands === 'DELIVERED').length === 5,
    10_000,
  );
  await eventually(
    async () => (await deliveries(target, endpoint.id))?.at(-1)?.status,
    (stands) => stands === 'FAILED',
    60_000,
  );
  const enabled = await world.sql`
    select disabled_reason from webhook_endpoints where id = ${own(endpoint.id)}`;
  expect(enabled).toEqual([{ disabled_reason: null }]);
}, 90_000);

test('an address that is not public is refused where it is connected to', async () => {
  const lenient = await serve();
  const target = await merchant(lenient);
  const shop = await receiver();
  const { endpoint } = await createEndpoint(target, shop.url);
  await lenient.stop();
  servers = [];
  const strict = await serve({ WEBHOOK_ALLOW_PRIVATE: 'off' });
  const at = { ...target, url: strict.url };
  await pays(at, 1);
  const given = await eventually(
    async () => (await deliveries(at, endpoint.id))?.[0],
    (one) => (one?.attemptCount ?? 0) > 0,
  );
  expect(given?.attempts.nodes.at(-1)?.result).toBe('DESTINATION_REFUSED');
  expect(shop.received).toHaveLength(0);
}, 60_000);

test('Postgres is killed and comes back: the server lives, and delivers', async () => {
  const postgres = await startTestPostgres();
  const shop = await receiver();
  const env = { ...QUICK, ...RETRIES, WEBHOOK_SECRET_KEY: KEY, SIMULATOR_URL: world.simulator.url };
  const server = await startTestServer({ env: { ...env, DATABASE_URL: postgres.url } });
  try {
    await createEndpoint(server, shop.url);
    let seen = 0;
    for (const fault of ['kill9', 'stop', 'immediateStop'] as const) {
      const storm = Array.from({ length: 20 }, () => pay(server, freshKey()).catch(() => {}));
      await shop.got(seen + 5);
      await postgres[fault]();
      await Promise.all(storm);
      await postgres.start();
      const events = await eventually(
        async () => {
          const all = await eventCount(postgres.url).catch(() => 0);
          return all > 0 && new Set(shop.received.map(idOf)).size >= all ? all : 0;
        },
        (all) => all > 0,
        60_000,
      );
      expect(events).toBeGreaterThan(seen);
      seen = shop.received.length;
    }
  } finally {
    expect(await server.stop()).toBe(0);
    await postgres.remove();
  }
}, 240_000);

async function eventCount(url: string): Promise<number> {
  const { default: connect } = await import('postgres');
  const sql = connect(url, { max: 1, onnotice: () => {} });
  try {
    const [row] = await sql`select count(*)::int as events from outbox_events`;
    return row?.['events'] as number;
  } finally {
    await sql.end();
  }
}
