import connect from 'postgres';
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

test('endpoints that never answer, of several merchants, hold up no other one', async () => {
  const server = await serve({
    WEBHOOK_TIMEOUT_MS: '5000',
    WEBHOOK_RETRY_DELAYS_MS: '1,1,1,1,1,1',
  });
  const [stuck, shop] = [await receiver(), await receiver()];
  stuck.answer(() => {});
  const slow = [await merchant(server), await merchant(server), await merchant(server)];
  for (const target of slow) {
    for (let i = 0; i < 12; i += 1) await createEndpoint(target, `${stuck.url}/${i}`);
  }
  const other = await merchant(server);
  await createEndpoint(other, shop.url);
  await Promise.all(slow.map((target) => pays(target, 5)));
  // Each of them has cost a time-out once.
  await eventually(
    async () => world.sql`
      select from webhook_endpoints where failures > 0 and url like ${`${stuck.url}%`}`,
    (rows) => rows.length === 36,
    120_000,
  );
  for (let round = 1; round <= 5; round += 1) {
    await Promise.all([...slow, other].map((target) => pays(target, 3)));
    await shop.got(3 * round, 4_000);
  }
}, 240_000);

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

test('Postgres is killed under a delivery and comes back: the server lives, and delivers', async () => {
  const postgres = await startTestPostgres();
  const shop = await receiver();
  const env = { ...QUICK, ...RETRIES, WEBHOOK_SECRET_KEY: KEY, SIMULATOR_URL: world.simulator.url };
  const server = await startTestServer({
    env: { ...env, WEBHOOK_TIMEOUT_MS: '20000', DATABASE_URL: postgres.url },
  });
  const sql = connect(postgres.url, { max: 1, onnotice: () => {} });
  const everythingCame = () =>
    eventually(
      async () => {
        const [row] = await sql`select count(*)::int as events from outbox_events`;
        return (row?.['events'] as number) - new Set(shop.received.map(idOf)).size;
      },
      (missing) => missing === 0,
      60_000,
    );
  const unwritten = () => server.output().split('webhooks will be delivered later').length;
  try {
    await createEndpoint(server, shop.url);
    for (const fault of ['kill9', 'stop', 'immediateStop'] as const) {
      let answer = (): void => {};
      const held = new Promise<void>((resolve) => {
        answer = resolve;
      });
      shop.answer((_, response) => void held.then(() => response.writeHead(200).end()));
      const before = shop.received.length;
      await pays(server, 3);
      await shop.got(before + 1);
      await postgres[fault]();
      const known = unwritten();
      answer();
      // What came of it cannot be written, and the job cannot be ended.
      await eventually(
        async () => unwritten(),
        (now) => now > known,
      );
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      await postgres.start();
      await everythingCame();
      expect(paid(await pay(server, freshKey())).payment?.status).toBe('CAPTURED');
      await everythingCame();
    }
  } finally {
    await sql.end();
    expect(await server.stop()).toBe(0);
    await postgres.remove();
  }
}, 240_000);
