import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ask,
  codeOf,
  EUR_10_50,
  eventually,
  freshKey,
  paid,
  pay,
  type Reply,
  type Target,
} from '../support/pay.ts';
import type { TestServer } from '../support/with-server.ts';
import { as, atThePsp, disagreements, startWorld, type World } from './world.ts';

let world: World;
let one: TestServer;
let other: TestServer;

beforeAll(async () => {
  world = await startWorld();
  [one, other] = await Promise.all([world.server(), world.server()]);
}, 120_000);

afterAll(() => world.end(), 60_000);

/** Refused as another payload, with the arguments that differ and without a single value. */
function expectRefused(reply: Reply, paths: readonly string[], secrets: readonly string[]): void {
  expect(reply.status).toBe(422);
  expect(codeOf(reply)).toBe('IDEMPOTENCY_KEY_REUSED');
  expect(reply.body.errors?.[0]?.extensions).toMatchObject({
    reason: 'PAYLOAD',
    retryable: false,
    safeToRetryWithSameKey: false,
  });
  const told = reply.body.errors?.[0]?.extensions['paths'] as readonly string[];
  expect([...told].sort()).toEqual([...paths].sort());
  expect(reply.body.data ?? null).toBeNull();
  for (const secret of secrets) expect(JSON.stringify(reply.body)).not.toContain(secret);
}

const amount = (amountMinor: number, currency = 'EUR') => ({ amount: { amountMinor, currency } });
const AMOUNT = ['input.amount.amountMinor'];

describe('another amount under the same key', () => {
  test('is refused after the first call, from the cache and from the journal', async () => {
    const key = freshKey();
    const first = paid(await pay(one, key));
    for (const server of [one, other]) {
      expectRefused(await pay(server, key, amount(1_051)), AMOUNT, ['1050', '1051']);
    }
    await world.redis.flush();
    for (const server of [one, other]) {
      expectRefused(await pay(server, key, amount(1_051)), AMOUNT, ['1050', '1051']);
    }
    const replay = paid(await pay(one, key));
    expect(replay).toMatchObject({
      payment: first.payment,
      idempotency: { outcome: 'REPLAYED', attempt: 1 },
    });
    expect(await world.executions(key)).toHaveLength(1);
    expect(await world.requests(key)).toHaveLength(1);
  });

  test('never makes the first one wrong: what waits for its buyer is asked for beside it', async () => {
    const key = freshKey();
    const waits = { paymentMethod: 'pm_requires_action' };
    const first = paid(await pay(one, key, waits));
    expect(first.payment).toMatchObject({ status: 'REQUIRES_ACTION' });
    for (let round = 0; round < 25; round += 1) {
      const [altered, same, there] = await Promise.all([
        pay(one, key, { ...waits, ...amount(1_051) }),
        pay(one, key, waits),
        pay(other, key, waits),
      ]);
      expect(codeOf(altered)).toBe('IDEMPOTENCY_KEY_REUSED');
      for (const reply of [same, there]) {
        expect(codeOf(reply)).toBeUndefined();
        expect(paid(reply).payment).toMatchObject({ id: first.payment?.id });
      }
    }
  });

  test.each([
    ['while the first call runs', async () => {}],
    ['while it runs and Redis forgets', () => world.redis.flush()],
  ])('is refused at once, not told to wait, %s', async (_name, meanwhile) => {
    const key = freshKey();
    const slow = { paymentMethod: 'pm_slow_1000' };
    const running = pay(one, key, slow);
    await atThePsp(world, key);
    await meanwhile();
    for (const server of [one, other]) {
      expectRefused(await pay(server, key, { ...slow, ...amount(1_051) }), AMOUNT, [
        '1050',
        '1051',
      ]);
    }
    expect(paid(await running)).toMatchObject({ payment: { status: 'CAPTURED' } });
    expectRefused(await pay(other, key, amount(7)), [...AMOUNT, 'input.paymentMethod'], ['1050']);
    expect(await world.executions(key)).toHaveLength(1);
  });

  test.each([
    ['is unknown', 'pm_hang_before'],
    ['is under way at the PSP', 'pm_pending_60000'],
    ['was declined', 'pm_declined'],
    ['is in review', 'pm_wrong_amount'],
    ['was not sent', 'pm_rate_limited_9'],
    ['failed', 'pm_no_such_method'],
  ])('is refused when the first %s', async (_name, paymentMethod) => {
    const key = freshKey();
    await pay(one, key, { paymentMethod });
    const before = (await world.requests(key)).length;
    for (const server of [one, other]) {
      expectRefused(await pay(server, key, { paymentMethod, ...amount(1_051) }), AMOUNT, ['1051']);
    }
    const charges = (await world.requests(key)).filter((_, index) => index >= before);
    // Recovery may ask again under the same key; the refused calls have sent nothing of their own.
    expect(new Set(charges.map(({ idempotencyKey }) => idempotencyKey)).size).toBeLessThan(2);
    expect(await world.rows(key)).toHaveLength(1);
    expect((await world.rows(key))[0]?.amount_minor).toBe('1050');
  });

  test('is no mismatch if the first call was refused for its input', async () => {
    const key = freshKey();
    expect((await pay(one, key, amount(0))).status).toBe(400);
    expect(await world.rows(key)).toEqual([]);
    expect(paid(await pay(one, key, amount(100)))).toMatchObject({
      idempotency: { outcome: 'EXECUTED', attempt: 1 },
    });
    expectRefused(await pay(one, key), AMOUNT, ['1050']);
  });
});

const FULL = {
  ...EUR_10_50,
  description: 'Two coffees',
  metadata: { order: { id: 'A-1', lines: ['coffee', 'cake'] }, note: 'window seat' },
};

describe('every argument counts', () => {
  const differences: readonly [string, Record<string, unknown>, readonly string[]][] = [
    ['another currency', amount(1_050, 'USD'), ['input.amount.currency']],
    ['another payment method', { paymentMethod: 'pm_slow_1' }, ['input.paymentMethod']],
    ['another description', { description: 'Two teas' }, ['input.description']],
    ['no description', { description: null }, ['input.description']],
    ['a transaction id', { transactionId: `T-${freshKey()}` }, ['input.transactionId']],
    ['spaces around the description', { description: ' Two coffees ' }, ['input.description']],
    [
      'another metadata value',
      { metadata: { ...FULL.metadata, note: 'by the door' } },
      ['input.metadata.note'],
    ],
    [
      'one metadata member more',
      { metadata: { ...FULL.metadata, more: null } },
      ['input.metadata.more'],
    ],
    [
      'another order in a list',
      { metadata: { ...FULL.metadata, order: { id: 'A-1', lines: ['cake', 'coffee'] } } },
      ['input.metadata.order.lines'],
    ],
  ];

  test.each(differences)(
    '%s: refused, from the cache and the journal',
    async (_name, more, paths) => {
      const key = freshKey();
      paid(await pay(one, key, FULL));
      const hidden = ['coffee', 'tea', 'door', 'window'];
      expectRefused(await pay(one, key, { ...FULL, ...more }), paths, hidden);
      await world.redis.flush();
      expectRefused(await pay(other, key, { ...FULL, ...more }), paths, hidden);
      expect(await world.executions(key)).toHaveLength(1);
    },
  );

  test('the order of members does not: it is a replay', async () => {
    const key = freshKey();
    const { amount: money, paymentMethod, description, metadata } = FULL;
    const first = paid(await pay(one, key, FULL));
    const reordered = {
      metadata: { note: metadata.note, order: { lines: metadata.order.lines, id: 'A-1' } },
      description,
      paymentMethod,
      amount: { currency: money.currency, amountMinor: money.amountMinor },
    };
    for (const flush of [false, true]) {
      if (flush) await world.redis.flush();
      const again = paid(await pay(other, key, reordered));
      expect(again).toMatchObject({
        payment: { id: first.payment?.id },
        idempotency: { outcome: 'REPLAYED' },
      });
    }
  });

  test('composed and decomposed text are two texts', async () => {
    const key = freshKey();
    paid(await pay(one, key, { description: 'caf\u00e9' }));
    expectRefused(
      await pay(one, key, { description: 'cafe\u0301' }),
      ['input.description'],
      ['cafe\u0301'],
    );
  });

  test.each(['|', ':', ',', '"', '\\', ';', '&', '='])(
    'texts cannot run into each other over a %s',
    async (mark) => {
      const key = freshKey();
      paid(await pay(one, key, { description: `a${mark}b`, metadata: { c: 'c' } }));
      const moved = await pay(one, key, { description: 'a', metadata: { c: `b${mark}c` } });
      expectRefused(moved, ['input.description', 'input.metadata.c'], []);
    },
  );
});

describe('while the same is being worked on', () => {
  test('a duplicate waits for a bounded time and is then told when to ask again', async () => {
    const key = freshKey();
    const slow = { paymentMethod: 'pm_slow_1350' };
    const running = pay(one, key, slow);
    await atThePsp(world, key);
    const early = await Promise.all([pay(one, key, slow), pay(other, key, slow)]);
    const busy = early.filter(({ status }) => status === 409);
    for (const reply of busy) {
      expect(codeOf(reply)).toBe('IDEMPOTENCY_IN_PROGRESS');
      expect(reply.body.data ?? null).toBeNull();
      const { retryAfterMs, ...rest } = reply.body.errors?.[0]?.extensions ?? {};
      expect(rest).toMatchObject({ retryable: true, safeToRetryWithSameKey: true });
      expect(retryAfterMs).toBeGreaterThan(0);
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    }
    expect(busy.length).toBeGreaterThan(0);
    const done = paid(await running);
    expect(done.idempotency.outcome).toBe('EXECUTED');
    const after = paid(await pay(other, key, slow));
    expect(after).toMatchObject({
      payment: { id: done.payment?.id },
      idempotency: { outcome: 'REPLAYED' },
    });
    expect(await world.requests(key)).toHaveLength(1);
  });

  test('a duplicate that need not wait long joins and says so', async () => {
    const key = freshKey();
    const slow = { paymentMethod: 'pm_slow_500' };
    const running = pay(one, key, slow);
    await atThePsp(world, key);
    const [mine, theirs] = await Promise.all([pay(one, key, slow), pay(other, key, slow)]);
    const done = paid(await running);
    for (const reply of [mine, theirs]) {
      expect(paid(reply)).toMatchObject({
        payment: { id: done.payment?.id, status: 'CAPTURED' },
        idempotency: { outcome: 'JOINED' },
      });
      expect(reply.headers.get('idempotent-replayed')).toBe('true');
    }
    expect(await world.requests(key)).toHaveLength(1);
  });

  test('other keys are not held up by a storm on one', async () => {
    const slow = { paymentMethod: 'pm_slow_1200' };
    // Whether the cool key is answered first may be chance in one round on a busy machine.
    const overtaken = async (): Promise<boolean> => {
      const [hot, cool] = [freshKey(), freshKey()];
      const storm = Array.from({ length: 100 }, () => pay(one, hot, slow));
      await atThePsp(world, hot);
      expect(paid(await pay(one, cool)).payment?.status).toBe('CAPTURED');
      const [row] = await world.rows(hot);
      await Promise.all(storm);
      expect(await world.executions(hot)).toHaveLength(1);
      return row?.state === 'SENDING';
    };
    await eventually(overtaken, (first) => first);
  });
});

describe('two merchants with one key', () => {
  test('are two intents, in the cache and in the journal', async () => {
    const b: Target = as(one, await world.merchant(`merchant ${freshKey()}`));
    const key = freshKey();
    const ofA = paid(await pay(one, key));
    const ofB = paid(await pay(b, key, amount(2_000)));
    expect(ofB).toMatchObject({ idempotency: { outcome: 'EXECUTED' } });
    expect(ofB.payment?.id).not.toBe(ofA.payment?.id);
    await world.redis.flush();
    expect(paid(await pay(b, key, amount(2_000))).payment?.id).toBe(ofB.payment?.id);
    expectRefused(await pay(b, key), AMOUNT, ['1050', '2000']);
    expect(paid(await pay(one, key)).payment?.id).toBe(ofA.payment?.id);
    const keys = (await world.requests(key)).map(({ idempotencyKey }) => idempotencyKey);
    expect(new Set(keys).size).toBe(2);
  });

  test('cannot see each other, whatever they ask for', async () => {
    const b: Target = as(one, await world.merchant(`merchant ${freshKey()}`));
    const [key, transactionId] = [freshKey(), `T-${freshKey()}`];
    const { payment } = paid(await pay(one, key, { transactionId }));
    const [row] = await world.rows(key);
    const [reference] = await world.sql`
      select psp_reference from journal_entries where id = ${row?.id ?? ''}`;
    const lookups = [
      { id: payment?.id },
      { idempotencyKey: key },
      { transactionId },
      { pspReference: reference?.['psp_reference'] },
    ];
    const query = 'query($by: PaymentLookup!) { payment(by: $by) { id } }';
    for (const by of lookups) {
      expect((await ask(one, query, { by })).body.data).toEqual({ payment: { id: payment?.id } });
      expect((await ask(b, query, { by })).body).toEqual({ data: { payment: null } });
    }
    const record = 'query($key: IdempotencyKey!) { idempotencyKey(key: $key) { state } }';
    expect((await ask(b, record, { key })).body).toEqual({ data: { idempotencyKey: null } });
    const all = await ask(b, '{ payments { nodes { id } } }');
    expect(all.body).toEqual({ data: { payments: { nodes: [] } } });
    // The reference is free for B, who must not learn that A uses it.
    expect(paid(await pay(b, freshKey(), { transactionId })).payment?.status).toBe('CAPTURED');
  });
});

test('after all of that the books agree', async () => {
  await eventually(
    () => disagreements(world),
    (problems) => problems.length === 0,
  );
});
