import { afterAll, beforeAll, expect, test } from 'vitest';
import { as, startWorld, type World } from '../e2e/world.ts';
import { ask, eventually, freshKey, paid, pay, type Target } from '../support/pay.ts';
import { listen } from '../support/sse.ts';
import type { TestServer } from '../support/with-server.ts';

const PAYMENTS = 5_000;
const RESUMPTIONS = 50;
const AT_ONCE = 16;

let world: World;

beforeAll(async () => {
  world = await startWorld();
}, 120_000);

afterAll(() => world.end(), 60_000);

interface Event {
  readonly id: string;
  readonly paymentVersion: number;
  readonly cursor: string;
  readonly payment: { readonly id: string };
}

const EVENTS = 'subscription { paymentEvents { id paymentVersion cursor payment { id } } }';
const CAPTURE = `mutation($key: IdempotencyKey!, $input: CapturePaymentInput!) {
  capturePayment(idempotencyKey: $key, input: $input) { payment { version } } }`;

/** Sends a request again, with its key, until a server that is up has answered it. */
async function insist<T>(send: () => Promise<T | undefined>): Promise<T> {
  return eventually(
    () => send().catch(() => undefined),
    (answer) => answer !== undefined,
    120_000,
  ) as Promise<T>;
}

test('5,000 payments, a client that is killed 50 times, two servers and a restart: each event once, in order', async () => {
  const servers: TestServer[] = [await world.server(), await world.server()];
  const key = await world.merchant('followed');
  const at = (which: number): Target => as(servers[which % 2] as TestServer, key);
  const begun = await listen(at(0), { query: EVENTS });
  await eventually(
    async () => begun.frames.length,
    (count) => count === 1,
  );
  let last = begun.frames[0]?.id as string;
  begun.close();

  let made = 0;
  let paying = true;
  const payers = Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (made < PAYMENTS) {
        made += 1;
        const [which, intent] = [made, freshKey()];
        const more = which % 5 === 0 ? { captureMode: 'MANUAL' } : {};
        const payment = await insist(
          async () => paid(await pay(at(which), intent, more)).payment ?? undefined,
        );
        if (which % 5 !== 0) continue;
        const capture = freshKey();
        const input = { paymentId: payment.id };
        await insist(async () => {
          const { status, body } = await ask(at(which), CAPTURE, { key: capture, input });
          if (status !== 200 || body.errors !== undefined) throw new Error('again');
          return body;
        });
      }
    }),
  ).finally(() => {
    paying = false;
  });

  const seen: Event[] = [];
  let resumptions = 0;
  /** Reads until there are so many more events, or until there is nothing more to come. */
  const follow = async (which: number, most: number): Promise<void> => {
    const stream = await listen(at(which), { query: EVENTS, headers: { 'last-event-id': last } });
    if (stream.status !== 200) return;
    resumptions += 1;
    let ended = false;
    void stream.ended.then(() => {
      ended = true;
    });
    await eventually(async () => stream.results().length >= most || ended, Boolean, 60_000);
    stream.close();
    for (const { id, data } of stream.frames) {
      if (data === undefined) continue;
      seen.push((JSON.parse(data) as { data: { paymentEvents: Event } }).data.paymentEvents);
      last = id as string;
    }
  };
  for (let round = 0; resumptions < RESUMPTIONS && paying; round += 1) {
    await follow(round, 1 + ((round * 37) % 90)).catch(() => {});
    if (round !== 20) continue;
    await servers[0]?.kill();
    servers[0] = await world.server();
  }
  await payers;
  const [{ count }] = (await world.sql`
    select count(*)::int from outbox_events e join merchants m on m.id = e.merchant_id
    where m.name = 'followed'`) as unknown as [{ count: number }];
  while (seen.length < count) await follow(resumptions, Math.min(count - seen.length, 150));

  expect(resumptions).toBeGreaterThanOrEqual(RESUMPTIONS);
  // One for each payment, and those of captures and of what was in doubt.
  expect(count).toBeGreaterThan(PAYMENTS * 1.1);
  expect(seen).toHaveLength(count);
  expect(new Set(seen.map(({ id }) => id)).size).toBe(count);
  const versions = new Map<string, number>();
  for (const { payment, paymentVersion } of seen) {
    expect(paymentVersion).toBeGreaterThan(versions.get(payment.id) ?? 0);
    versions.set(payment.id, paymentVersion);
  }
}, 600_000);
