import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  ask,
  codeOf,
  EUR_10_50,
  eventually,
  freshKey,
  PAY,
  paid,
  pay,
  type Reply,
  send,
} from '../support/pay.ts';
import type { TestServer } from '../support/with-server.ts';
import { atThePsp, disagreements, startWorld, type World } from './world.ts';

let world: World;
let server: TestServer;

beforeAll(async () => {
  world = await startWorld();
  server = await world.server();
}, 120_000);

afterAll(() => world.end(), 60_000);

function expectReplayOf(first: Reply, again: Reply): void {
  expect(again.status).toBe(200);
  expect(again.body.errors).toBeUndefined();
  expect(paid(again).payment).toMatchObject({ id: paid(first).payment?.id });
  expect(again.headers.get('idempotent-replayed')).toBe('true');
}

async function expectOnce(key: string): Promise<void> {
  expect(await world.rows(key)).toHaveLength(1);
  expect(await world.executions(key)).toHaveLength(1);
  expect(await world.requests(key)).toHaveLength(1);
}

async function expectNoTrace(key: string): Promise<void> {
  expect(await world.rows(key)).toEqual([]);
}

describe('a retry after success', () => {
  test('gets the first answer and does not charge', async () => {
    const key = freshKey();
    const first = await pay(server, key);
    expect(first.headers.has('idempotent-replayed')).toBe(false);
    expect(paid(first)).toMatchObject({ idempotency: { outcome: 'EXECUTED', attempt: 1 } });
    for (let retry = 0; retry < 3; retry += 1) {
      const again = await pay(server, key);
      expectReplayOf(first, again);
      expect(paid(again)).toEqual({
        ...paid(first),
        idempotency: { ...paid(first).idempotency, outcome: 'REPLAYED' },
      });
    }
    await expectOnce(key);
  });

  test('after Redis forgot: the same, from the journal; and the cache is filled again', async () => {
    const key = freshKey();
    const first = await pay(server, key);
    await world.redis.flush();
    const again = await pay(server, key);
    expectReplayOf(first, again);
    expect(paid(again)).toEqual({
      ...paid(first),
      idempotency: { ...paid(first).idempotency, outcome: 'REPLAYED' },
    });
    expect(await world.redis.client().dbsize()).toBe(1);
    expectReplayOf(first, await pay(server, key));
    await expectOnce(key);
  });

  test('of the last seconds is answered from memory, also when Redis forgot', async () => {
    const near = await world.server({ NEAR_ANSWERS_MS: '10000' });
    const key = freshKey();
    const first = await pay(near, key);
    await world.redis.flush();
    const again = await pay(near, key);
    expectReplayOf(first, again);
    expect(paid(again).idempotency.outcome).toBe('REPLAYED');
    expect(codeOf(await pay(near, key, { ...EUR_10_50, description: 'another' }))).toBe(
      'IDEMPOTENCY_KEY_REUSED',
    );
    expect(await world.redis.client().dbsize()).toBe(0);
    await expectOnce(key);
  });

  test('may select other fields', async () => {
    const key = freshKey();
    const input = {
      ...EUR_10_50,
      description: 'Two coffees',
      transactionId: `T-${key}`,
      metadata: { order: { lines: [1, 2] } },
    };
    const small = `mutation($key: IdempotencyKey!, $input: CreatePaymentInput!) {
      createPayment(idempotencyKey: $key, input: $input) { payment { id } } }`;
    const large = `mutation($key: IdempotencyKey!, $input: CreatePaymentInput!) {
      paid: createPayment(idempotencyKey: $key, input: $input) {
        payment { number: id status isTerminal amount { minor: amountMinor currency decimal }
          captured { decimal } refundable { amountMinor } transactionId description metadata
          version createdAt updatedAt __typename }
        userErrors { code } idempotency { key outcome attempt firstSeenAt answerExpiresAt } } }`;
    const first = paid(await ask(server, small, { key, input }));
    for (const flush of [false, true]) {
      if (flush) await world.redis.flush();
      const { data } = (await ask(server, large, { key, input })).body as {
        data: { paid: Record<string, unknown> };
      };
      expect(data.paid['payment']).toMatchObject({
        number: first.payment?.id,
        status: 'CAPTURED',
        isTerminal: true,
        amount: { minor: 1_050, currency: 'EUR', decimal: '10.50' },
        captured: { decimal: '10.50' },
        refundable: { amountMinor: 1_050 },
        transactionId: `T-${key}`,
        description: 'Two coffees',
        metadata: { order: { lines: [1, 2] } },
        __typename: 'Payment',
      });
      expect(data.paid['idempotency']).toMatchObject({ key, outcome: 'REPLAYED', attempt: 1 });
    }
    await expectOnce(key);
  });

  test('the data is equal byte for byte: at first, from Redis, from the journal', async () => {
    const key = freshKey();
    const document = `mutation($key: IdempotencyKey!, $input: CreatePaymentInput!) {
      createPayment(idempotencyKey: $key, input: $input) {
        payment { id transactionId status isTerminal amount { amountMinor currency decimal }
          authorized { amountMinor } captured { decimal } refunded { amountMinor } capturable { decimal }
          refundable { decimal } inDoubt { decimal } allowedActions nextCheckAt description metadata
          version createdAt updatedAt }
        userErrors { code } idempotency { key attempt firstSeenAt answerExpiresAt } } }`;
    const metadata = {
      nothing: null,
      yes: true,
      zero: 0,
      less: -1.5,
      small: 1e-7,
      large: 1e21,
      empty: '',
      list: [],
      none: {},
      face: '😀 é e\u0301 \u2028 \\u0000',
      ['__proto__']: { constructor: { b: [[1], { a: 2 }] } },
      b: 1,
      aa: 2,
    };
    const input = {
      amount: { amountMinor: 9_999_999_999, currency: 'EUR' },
      paymentMethod: 'pm_ok',
      description: 'IN_PROGRESS',
      metadata,
    };
    const body = JSON.stringify({ query: document, variables: { key, input } });
    const first = await send(server, body);
    expect(first.status).toBe(200);
    const cached = await send(server, body);
    await world.redis.flush();
    const journaled = await send(server, body);
    expect(cached.text).toBe(first.text);
    expect(journaled.text).toBe(first.text);
    const { payment } = paid(first) as unknown as { payment: { metadata: typeof metadata } };
    expect(JSON.parse(JSON.stringify(payment.metadata))).toEqual(
      JSON.parse(JSON.stringify(metadata)),
    );
    await expectOnce(key);
  });

  test('a document in other words is the same request', async () => {
    const key = freshKey();
    const first = await pay(server, key);
    const documents: readonly [string, Record<string, unknown>][] = [
      [
        `mutation Other($i: CreatePaymentInput!, $k: IdempotencyKey!) { # a comment
          createPayment(input: $i, idempotencyKey: $k) { payment { id } } }`,
        { i: EUR_10_50, k: key },
      ],
      [
        `mutation { createPayment(input: { paymentMethod: "pm_ok",
          amount: { currency: "EUR", amountMinor: 1050 } }, idempotencyKey: ${JSON.stringify(key)}) {
          ...A ...A ... on CreatePaymentPayload { payment { status } } } }
        fragment A on CreatePaymentPayload { payment { id } }`,
        {},
      ],
      [
        `mutation($minor: MinorUnits!, $currency: CurrencyCode! = "EUR", $k: IdempotencyKey!) {
          createPayment(idempotencyKey: $k, input: { amount: { amountMinor: $minor, currency: $currency },
            paymentMethod: """pm_ok""" }) { payment { id } __typename } __typename }`,
        { minor: '1050', k: key },
      ],
      [
        `fragment F on Mutation { createPayment(idempotencyKey: $key, input: $input) { payment { id } } }
        mutation($key: IdempotencyKey!, $input: CreatePaymentInput!) { ...F }`,
        { key, input: { ...EUR_10_50, amount: { currency: 'eur', amountMinor: 1_050 } } },
      ],
    ];
    for (const [document, variables] of documents) {
      expectReplayOf(first, await ask(server, document, variables));
    }
    await expectOnce(key);
  });

  test('members outside the arguments change nothing', async () => {
    const key = freshKey();
    const first = await pay(server, key);
    const request = { query: PAY, variables: { key, input: EUR_10_50, unused: 1 } };
    const bodies = [
      { ...request, extensions: { trace: freshKey() } },
      { more: [1], operationName: 'Pay', ...request },
      { ...request, extensions: null, operationName: null },
    ];
    for (const body of bodies) expectReplayOf(first, await send(server, JSON.stringify(body)));
    await expectOnce(key);
  });

  test.each(['100', '100.0', '1e2', '1E+2', '10000e-2', '"100"'])(
    'the number 100 written as %s is the same number',
    async (spelling) => {
      const key = freshKey();
      const body = (amount: string) =>
        `{"query":${JSON.stringify(PAY)},"variables":{"key":"${key}","input":{"amount":{"amountMinor":${amount},"currency":"EUR"},"paymentMethod":"pm_ok"}}}`;
      const first = await send(server, body('100'));
      expect(first.status).toBe(200);
      expectReplayOf(first, await send(server, body(spelling)));
      await expectOnce(key);
    },
  );

  test('null, left out, an unset and a null variable are the same', async () => {
    const key = freshKey();
    const document = `mutation($key: IdempotencyKey!, $text: String, $json: JSONObject) {
      createPayment(idempotencyKey: $key, input: { amount: { amountMinor: 1050, currency: "EUR" },
        paymentMethod: "pm_ok", description: $text, metadata: $json }) { payment { id } } }`;
    const first = await pay(server, key);
    const others = [
      pay(server, key, { description: null, metadata: null, transactionId: null }),
      ask(server, document, { key }),
      ask(server, document, { key, text: null, json: null }),
      pay(server, key, { description: undefined }),
    ];
    for (const reply of await Promise.all(others)) expectReplayOf(first, reply);
    await expectOnce(key);
  });

  test('of a member that comes twice one value counts everywhere', async () => {
    const key = freshKey();
    const body = `{"query":${JSON.stringify(PAY)},"variables":{"key":"${key}","input":{"amount":{"amountMinor":100,"amountMinor":999,"currency":"EUR"},"paymentMethod":"pm_ok"}}}`;
    const reply = await send(server, body);
    if (reply.status === 400) return expectNoTrace(key);
    expect((await world.executions(key))[0]?.amountMinor).toBe(999);
    expect((await world.rows(key))[0]?.amount_minor).toBe('999');
    const plain = { amount: { amountMinor: 999, currency: 'EUR' } };
    expectReplayOf(reply, await pay(server, key, plain));
    await expectOnce(key);
  });

  test('input that is normalised on its way is the same input, however the first call ended', async () => {
    const spelled = {
      amount: { amountMinor: '1050', currency: 'eUr' },
      description: '  around  ',
      metadata: { n: 1 },
    };
    const [ok, declined, busy] = [freshKey(), freshKey(), freshKey()];
    const first = await pay(server, ok, spelled);
    expectReplayOf(first, await pay(server, ok, spelled));
    await expectOnce(ok);

    const no = await pay(server, declined, { ...spelled, paymentMethod: 'pm_declined' });
    expectReplayOf(no, await pay(server, declined, { ...spelled, paymentMethod: 'pm_declined' }));
    expect(await world.executions(declined)).toEqual([]);

    const limited = { ...spelled, paymentMethod: 'pm_rate_limited_1' };
    expect(paid(await pay(server, busy, limited)).payment).toBeNull();
    expect(paid(await pay(server, busy, limited)).payment?.status).toBe('CAPTURED');
    expect(await world.rows(busy)).toHaveLength(1);
    expect(await world.executions(busy)).toHaveLength(1);
  });
});

describe('what lies in Redis under a settled key', () => {
  test.each<[string, (entry: string) => string | undefined]>([
    ['text that is no JSON', () => 'not JSON'],
    ['an empty object', () => '{}'],
    ['a list', () => '[]'],
    ['nothing', () => ''],
    ['another version', (entry) => entry.replace('semel-1', 'semel-9')],
    ['half an entry', (entry) => entry.slice(0, entry.length / 2)],
    ['an answer that is damaged', (entry) => entry.replace('"answer":"=', '"answer":"')],
    ['five megabytes', () => 'x'.repeat(5_000_000)],
    ['another type', () => undefined],
  ])('%s: it is told from an answer, and nothing is charged', async (_name, damage) => {
    const key = freshKey();
    await world.redis.flush();
    const first = await pay(server, key);
    const redis = world.redis.client();
    const [name = ''] = await redis.keys('*');
    const damaged = damage((await redis.get(name)) ?? '');
    if (damaged === undefined) await redis.multi().del(name).hset(name, 'a', 'b').exec();
    else await redis.set(name, damaged, 'PX', 60_000);
    for (let retry = 0; retry < 2; retry += 1) {
      const again = await pay(server, key);
      expectReplayOf(first, again);
    }
    expect((await pay(server, key, { description: 'other' })).status).toBe(422);
    await expectOnce(key);
  });

  test('an entry of another payment is not believed', async () => {
    await world.redis.flush();
    const [mine, theirs] = [freshKey(), freshKey()];
    const redis = world.redis.client();
    const first = await pay(server, mine);
    const [name = ''] = await redis.keys('*');
    const other = await pay(server, theirs);
    const foreign = (await redis.keys('*')).find((one) => one !== name) ?? '';
    await redis.copy(foreign, name, 'REPLACE');
    const again = await pay(server, mine);
    expectReplayOf(first, again);
    expect(paid(again).payment?.id).not.toBe(paid(other).payment?.id);
    await expectOnce(mine);
  });
});

describe('a client that hangs up', () => {
  test.each([50, 200, 450, 600])(
    'after %i ms: the payment is made and kept all the same',
    async (ms) => {
      const key = freshKey();
      const input = { ...EUR_10_50, paymentMethod: 'pm_slow_400' };
      const abort = new AbortController();
      const request = fetch(`${server.url}/graphql`, {
        method: 'POST',
        signal: abort.signal,
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${server.apiKey}`,
        },
        body: JSON.stringify({ query: PAY, variables: { key, input } }),
      }).catch(() => undefined);
      await atThePsp(world, key);
      await new Promise((resolve) => setTimeout(resolve, ms));
      abort.abort();
      await request;
      await eventually(
        async () => (await world.rows(key))[0]?.state,
        (state) => state === 'SUCCEEDED',
      );
      const again = paid(await pay(server, key, { paymentMethod: 'pm_slow_400' }));
      expect(again).toMatchObject({
        payment: { status: 'CAPTURED' },
        idempotency: { outcome: expect.stringMatching(/REPLAYED|JOINED/) },
      });
      await expectOnce(key);
    },
  );
});

describe('the form of keys', () => {
  async function expectKeyInvalid(
    key: string,
    headers: Record<string, string> = {},
  ): Promise<void> {
    const before = await world.redis.client().dbsize();
    const charges = (await world.simulator.requests()).length;
    const reply = await pay(server, key, {}, headers);
    expect(reply.status).toBe(400);
    expect(codeOf(reply)).toBe('IDEMPOTENCY_KEY_INVALID');
    expect(reply.body.data ?? null).toBeNull();
    expect(await world.redis.client().dbsize()).toBe(before);
    expect((await world.simulator.requests()).length).toBe(charges);
  }

  test('one and 255 characters are keys, none and 256 are not', async () => {
    // A visible character that no other test uses, and 255 random ones.
    const longest = randomBytes(200).toString('base64url').slice(0, 255);
    for (const key of ['~', longest]) {
      const first = await pay(server, key, {}, { 'idempotency-key': key });
      expect(paid(first).idempotency).toMatchObject({ key, outcome: 'EXECUTED' });
      expectReplayOf(first, await pay(server, key));
      await expectOnce(key);
    }
    for (const key of ['', `${longest}x`]) {
      await expectKeyInvalid(key);
      await expectKeyInvalid(key, { 'idempotency-key': key });
      await expectNoTrace(key);
    }
  });

  test.each([
    ' ',
    '\t',
    '\u00a0\u00a0\u00a0',
    'K ',
    ' K',
    'K K',
    'K\u0000z',
    '\u0001K',
    'K\u007f',
    'K\r\nX: y',
    'K\u202e',
    'schlüssel',
    '😀',
    '\ud800',
    '４２',
  ])('%j is none', async (key) => {
    await expectKeyInvalid(key);
    await expectNoTrace(key.replaceAll('\u0000', ''));
  });

  test('neither are eight and forty kilobytes of random text', async () => {
    for (const bytes of [6_000, 30_000]) {
      await expectKeyInvalid(randomBytes(bytes).toString('base64'));
    }
    const header = randomBytes(6_000).toString('base64');
    expect([400, 431]).toContain(
      (await pay(server, freshKey(), {}, { 'idempotency-key': header })).status,
    );
    const body = JSON.stringify({
      query: PAY,
      variables: { key: randomBytes(60_000).toString('base64'), input: EUR_10_50 },
    });
    expect((await send(server, body)).status).toBe(413);
  });

  test('a header must agree with the argument, bare or quoted', async () => {
    const key = `a"b\\c-${randomUUID()}`;
    const first = await pay(server, key, {}, { 'idempotency-key': key });
    expect(paid(first).idempotency.outcome).toBe('EXECUTED');
    const quoted = `"${key.replace(/["\\]/g, '\\$&')}"`;
    expectReplayOf(first, await pay(server, key, {}, { 'idempotency-key': quoted }));
    expectReplayOf(first, await pay(server, key));
    await expectKeyInvalid(key, { 'idempotency-key': `${key}x` });
    const fresh = freshKey();
    await expectKeyInvalid(fresh, { 'idempotency-key': key });
    await expectNoTrace(fresh);
    await expectOnce(key);
  });

  test('a header without the argument is refused, and so is neither', async () => {
    const key = freshKey();
    const document = `mutation($input: CreatePaymentInput!) {
      createPayment(input: $input) { payment { id } } }`;
    const header = { 'idempotency-key': key };
    for (const headers of [header, {}] as Record<string, string>[]) {
      const left = await ask(server, document, { input: EUR_10_50 }, headers);
      expect(left.status).toBe(400);
      const unset = await ask(server, PAY, { input: EUR_10_50 }, headers);
      expect(unset.status).toBe(400);
      expect(codeOf(unset)).toBe('BAD_USER_INPUT');
    }
    await expectNoTrace(key);
  });

  test.each([null, 123, true, ['K'], { K: 1 }])('%j is no key', async (key) => {
    const reply = await ask(server, PAY, { key, input: EUR_10_50 });
    expect(reply.status).toBe(400);
    expect(codeOf(reply)).toBe('BAD_USER_INPUT');
    expect(reply.body.data ?? null).toBeNull();
    const inline = `mutation($input: CreatePaymentInput!) {
      createPayment(idempotencyKey: ${key === null ? 'null' : '123'}, input: $input) { payment { id } } }`;
    expect((await ask(server, inline, { input: EUR_10_50 })).status).toBe(400);
    await expectNoTrace(String(key));
  });

  test('upper and lower case are different keys', async () => {
    const uuid = randomUUID().replace(/^./, 'a');
    for (const key of [uuid, uuid.toUpperCase()]) {
      expect(paid(await pay(server, key)).idempotency.outcome).toBe('EXECUTED');
      await expectOnce(key);
    }
  });

  test('keys that mean something to Redis, to SQL or to us are keys like others', async () => {
    const K = freshKey();
    const [name = ''] = await world.redis
      .client()
      .keys('semel:*')
      .then((names) => names.slice(0, 1));
    const keys = [
      K,
      ...['*', '?', '[a-z]', 'a:b', `lock:${K}`, `result:${K}`, `${K}:lock`, `../${K}`, '%00'],
      ...[`{${K}}`, `semel:{${K}}`, `semel:${K}`, name, "';--", '$1', '\\x00', '<script>'],
      ...['IN_PROGRESS', 'DONE', 'null', 'undefined', 'true', '0', '?', '=', '__proto__'],
    ];
    const distinct = [...new Set(keys.filter((key) => key !== ''))];
    const amounts = new Map(distinct.map((key, index) => [key, 100 + index]));
    const payment = (key: string) =>
      pay(server, key, { amount: { amountMinor: amounts.get(key), currency: 'EUR' } });
    const firsts = await Promise.all(distinct.map(payment));
    expect(new Set(firsts.map((reply) => paid(reply).payment?.id)).size).toBe(distinct.length);
    for (const [index, key] of distinct.entries()) {
      const again = await payment(key);
      expectReplayOf(firsts[index] as Reply, again);
      expect(paid(again).payment).toMatchObject({ amount: { amountMinor: 100 + index } });
    }
    await world.redis.flush();
    for (const [index, key] of distinct.entries()) {
      expectReplayOf(firsts[index] as Reply, await payment(key));
    }
    for (const key of distinct) await expectOnce(key);
  });

  test.each(['IN_PROGRESS', '{}', 'null', '?', '='])(
    'a description that says %s is a description',
    async (description) => {
      const key = freshKey();
      const first = await pay(server, key, { description });
      expectReplayOf(first, await pay(server, key, { description }));
      await expectOnce(key);
    },
  );
});

describe('texts that no database or log should see', () => {
  const bad: readonly [string, Record<string, unknown>][] = [
    ['NUL in the description', { description: 'a\u0000b' }],
    ['NUL in a metadata value', { metadata: { n: '\u0000' } }],
    ['NUL in a metadata name', { metadata: { 'n\u0000': 'x' } }],
    ['NUL deep in the metadata', { metadata: { a: [{ b: ['\u0000'] }] } }],
    ['a control character in the reference', { transactionId: 'T\u001b[31m' }],
    ['a line break in the payment method', { paymentMethod: 'pm_ok\r\nx: y' }],
    ['a lone surrogate', { description: '\ud83d' }],
    ['a lone surrogate in a metadata name', { metadata: { '\udc00': 1 } }],
    ['a number that JSON cannot say', { metadata: { n: 'INFINITY' } }],
    ['metadata that is no object', { metadata: [] }],
    [
      '51 metadata members',
      { metadata: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`m${i}`, 1])) },
    ],
    ['a metadata name of 41 characters', { metadata: { ['n'.repeat(41)]: 1 } }],
    ['a metadata value of 501 characters', { metadata: { n: 'v'.repeat(501) } }],
    [
      'metadata nested very deep',
      { metadata: { n: JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) } },
    ],
    ['an empty payment method', { paymentMethod: '' }],
    ['an empty reference', { transactionId: '' }],
  ];

  test.each(bad)('%s: refused by name, and the key is free', async (_name, more) => {
    const key = freshKey();
    const input = JSON.stringify({ ...EUR_10_50, ...more }).replace('"INFINITY"', '1e400');
    const reply = await send(
      server,
      `{"query":${JSON.stringify(PAY)},"variables":{"key":"${key}","input":${input}}}`,
    );
    expect(reply.status).toBe(400);
    expect(codeOf(reply)).toBe('BAD_USER_INPUT');
    expect(reply.body.errors?.[0]?.message).toContain(Object.keys(more)[0]);
    await expectNoTrace(key);
    expect(paid(await pay(server, key)).idempotency).toMatchObject({
      outcome: 'EXECUTED',
      attempt: 1,
    });
    await expectOnce(key);
  });

  test('the six characters of an escape are no NUL, and the most that is allowed is kept', async () => {
    const key = freshKey();
    const metadata = Object.fromEntries(
      Array.from({ length: 50 }, (_, i) => [`${i}`.padStart(40, 'n'), 'é'.repeat(500)]),
    );
    const input = {
      ...EUR_10_50,
      description: '\\u0000 and 😀',
      metadata: { ...metadata, ['n'.repeat(38) + 49]: '\\u0000' },
    };
    const first = await ask(
      server,
      `mutation($key: IdempotencyKey!, $input: CreatePaymentInput!) {
        createPayment(idempotencyKey: $key, input: $input) { payment { description metadata } } }`,
      { key, input },
    );
    expect(first.status).toBe(200);
    expect(paid(first).payment).toEqual({
      description: input.description,
      metadata: input.metadata,
    });
    await expectOnce(key);
  });
});

test('a restart forgets nothing', async () => {
  const keys = [freshKey(), freshKey()] as const;
  const [done, declined] = [
    await pay(server, keys[0]),
    await pay(server, keys[1], { paymentMethod: 'pm_declined' }),
  ];
  expect(await server.stop()).toBe(0);
  await world.redis.restart();
  server = await world.server();
  expectReplayOf(done, await pay(server, keys[0]));
  expectReplayOf(declined, await pay(server, keys[1], { paymentMethod: 'pm_declined' }));
  expect((await pay(server, keys[0], { description: 'other' })).status).toBe(422);
  await expectOnce(keys[0]);
}, 60_000);

test('after all of that the books agree', async () => {
  expect(await disagreements(world)).toEqual([]);
});
