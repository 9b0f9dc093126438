import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { getIntrospectionQuery } from 'graphql';
import { serverAudits } from 'graphql-http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startWorld, type World } from '../e2e/world.ts';
import { ask, codeOf, EUR_10_50, freshKey, PAY, paid, pay, send } from '../support/pay.ts';
import type { TestServer } from '../support/with-server.ts';

let world: World;
let server: TestServer;
/** A body that comes byte by byte takes long to be given up; it is begun first. */
let dribbled: Promise<string>;

beforeAll(async () => {
  world = await startWorld();
  server = await world.server();
  dribbled = dribble();
}, 120_000);

afterAll(() => world.end(), 60_000);

const bodyFor = (key: string): string =>
  JSON.stringify({ query: PAY, variables: { key, input: EUR_10_50 } });

async function expectNothingDone(key: string): Promise<void> {
  expect(await world.rows(key)).toEqual([]);
  expect(paid(await pay(server, key)).idempotency).toMatchObject({
    outcome: 'EXECUTED',
    attempt: 1,
  });
}

/** No path of a file, no stack, no version of a library. */
function expectTidy(text: string): void {
  expect(text).not.toMatch(/node_modules|\.[jt]s:\d|\bat [\w.<>]+ \(|<html|express/i);
}

describe('the audits of graphql-http', () => {
  const known = new Set(['5A70', 'D6D5', '6A70', '572B', 'FDE2', '7B9B']);

  test.each([
    ['with a key', true],
    ['without one', false],
  ])('%s: no error, and nothing beyond the known', async (_name, signedIn) => {
    const fetchFn = (url: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers);
      if (signedIn) headers.set('authorization', `Bearer ${server.apiKey}`);
      return fetch(url, { ...init, headers });
    };
    const audits = serverAudits({ url: `${server.url}/graphql`, fetchFn });
    const results = await Promise.all(audits.map((audit) => audit.fn()));
    expect(results.length).toBeGreaterThan(60);
    const remarks = results.filter(({ status }) => status !== 'ok');
    expect(remarks.filter(({ status }) => status === 'error')).toEqual([]);
    expect(remarks.map(({ id }) => id).filter((id) => !known.has(id))).toEqual([]);
  });
});

describe('the media type of the answer', () => {
  test.each([
    'image/png',
    'text/html',
    'multipart/mixed',
    'application/xml',
    'application/json;q=0',
  ])('%s cannot be met: 406 before anything is done', async (accept) => {
    const key = freshKey();
    const reply = await pay(server, key, {}, { accept });
    expect(reply.status).toBe(406);
    await expectNothingDone(key);
  });

  test.each([
    ['application/json', 'application/json'],
    ['application/graphql-response+json', 'application/graphql-response+json'],
    ['*/*', 'application/json'],
    ['application/*', 'application/json'],
    [
      'application/graphql-response+json; charset=utf-8, application/json;q=0.9',
      'application/graphql-response+json',
    ],
    ['text/html, application/json;q=0.5', 'application/json'],
    ['multipart/mixed; deferSpec=20220824, application/json', 'application/json'],
  ])('%s is answered as %s, a refusal just so', async (accept, type) => {
    const key = freshKey();
    const replies = [
      await pay(server, key, {}, { accept }),
      await pay(server, key, { description: 'other' }, { accept }),
      await pay(server, '', {}, { accept }),
    ];
    expect(replies.map(({ status }) => status)).toEqual([200, 422, 400]);
    for (const { headers } of replies) {
      expect(headers.get('content-type')).toMatch(new RegExp(`^${type.replace('+', '\\+')}\\b`));
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
  });
});

describe('the media type of the body', () => {
  test.each<[string, Record<string, string>]>([
    ['text/plain', {}],
    ['text/plain', { 'apollo-require-preflight': '1' }],
    ['application/x-www-form-urlencoded', {}],
    ['multipart/form-data; boundary=x', {}],
    ['application/graphql', {}],
    ['application/vnd.x+json', {}],
    ['application/json; charset=iso-8859-1', {}],
    ['application/json; charset=utf-16le', {}],
    ['application/json;;;', {}],
    ['application/jsonp', {}],
    ['', {}],
  ])('%j %j is refused and nothing is done', async (contentType, more) => {
    const key = freshKey();
    const foreign = { origin: 'https://elsewhere.example', cookie: 'session=1' };
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.apiKey}`,
        ...foreign,
        ...more,
        'content-type': contentType,
      },
      body: Buffer.from(bodyFor(key)),
    });
    expect([400, 415]).toContain(response.status);
    expect(response.headers.has('access-control-allow-origin')).toBe(false);
    const text = await response.text();
    expect(JSON.parse(text)).toHaveProperty('errors');
    expectTidy(text);
    await expectNothingDone(key);
  });

  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'APPLICATION/JSON',
  ])('%s is served', async (contentType) => {
    const reply = await send(server, bodyFor(freshKey()), { 'content-type': contentType });
    expect(reply.status).toBe(200);
  });

  test('a compressed body is not half read', async () => {
    const key = freshKey();
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${server.apiKey}`,
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      },
      body: gzipSync(bodyFor(key)),
    });
    expect([400, 415]).toContain(response.status);
    await response.text();
    await expectNothingDone(key);
  });
});

describe('the body', () => {
  test.each([
    ['cut', (key: string) => bodyFor(key).slice(0, -3)],
    ['nonsense', () => 'NONSENSE'],
    ['nothing', () => ''],
    ['no UTF-8', () => '{"query":"{ __typename }","x":"\u00ff"}'],
    ['deep', () => '['.repeat(60_000)],
    ['a string', (key: string) => JSON.stringify(bodyFor(key))],
    ['a number', () => '1'],
    ['null', () => 'null'],
    ['an empty list', () => '[]'],
    ['an empty object', () => '{}'],
    ['a batch', (key: string) => `[${bodyFor(key)},${bodyFor(key)}]`],
  ])('%s: 400 in JSON, and nothing is done', async (name, bodyOf) => {
    const key = freshKey();
    const text = bodyOf(key);
    const response = await fetch(`${server.url}/graphql`, {
      method: 'POST',
      headers: { authorization: `Bearer ${server.apiKey}`, 'content-type': 'application/json' },
      body: Buffer.from(text, name === 'no UTF-8' ? 'latin1' : 'utf8'),
    });
    expect(response.status).toBe(400);
    const answer = await response.text();
    expect(JSON.parse(answer)).toHaveProperty('errors');
    expectTidy(answer);
    await expectNothingDone(key);
  });

  const wrongMembers: readonly Record<string, unknown>[] = [
    { variables: 'text' },
    { variables: [1] },
    { variables: 1 },
    { operationName: 1 },
    { operationName: {} },
    { extensions: [1] },
    { extensions: 'text' },
    { query: 1 },
    { query: null },
    { query: '' },
    { query: { kind: 'Document', definitions: [] } },
    { query: undefined },
    { query: '# nothing' },
    { query: 'mutation {' },
    { operationName: 'Other' },
  ];

  test.each(wrongMembers)('with %j: 400 in JSON, and nothing is done', async (wrong) => {
    const key = freshKey();
    const body = { query: PAY, variables: { key, input: EUR_10_50 }, ...wrong };
    const reply = await send(server, JSON.stringify(body));
    expect(reply.status).toBe(400);
    expect(reply.body.errors?.length).toBeGreaterThan(0);
    expect(reply.body.data ?? null).toBeNull();
    expectTidy(reply.text);
    await expectNothingDone(key);
  });

  test.each<Record<string, unknown>>([
    { input: undefined },
    { input: null },
    { input: 'text' },
    { input: [EUR_10_50, EUR_10_50] },
    { input: {} },
    { input: { ...EUR_10_50, unknown: 1 } },
    { input: { ...EUR_10_50, amount: 1_050 } },
    { input: { ...EUR_10_50, amount: { amountMinor: 1_050 } } },
    { input: { ...EUR_10_50, paymentMethod: 1 } },
    { input: { ...EUR_10_50, description: {} } },
    { input: { ...EUR_10_50, metadata: 'text' } },
  ])('with variables %j: refused without data, and the key is free', async (wrong) => {
    const key = freshKey();
    const reply = await ask(server, PAY, { key, input: EUR_10_50, ...wrong });
    expect(reply.status).toBe(400);
    expect(codeOf(reply)).toBe('BAD_USER_INPUT');
    expect(reply.body.errors?.[0]?.extensions).toMatchObject({
      retryable: false,
      safeToRetryWithSameKey: true,
    });
    expect(reply.body.data ?? null).toBeNull();
    await expectNothingDone(key);
  });

  test('of 64 KiB is read, of one byte more is not, whether its length is announced or not', async () => {
    const key = freshKey();
    const most = bodyFor(key).padEnd(65_536);
    const chunked = (text: string) =>
      fetch(`${server.url}/graphql`, {
        method: 'POST',
        headers: { authorization: `Bearer ${server.apiKey}`, 'content-type': 'application/json' },
        body: new Blob([text]).stream(),
        duplex: 'half',
      } as RequestInit);
    expect((await send(server, `${most} `)).status).toBe(413);
    const refused = await chunked(`${most} `);
    expect(refused.status).toBe(413);
    expectTidy(await refused.text());
    expect(await world.rows(key)).toEqual([]);
    expect(paid(await send(server, most)).idempotency.outcome).toBe('EXECUTED');
    const again = await chunked(most);
    expect(again.status).toBe(200);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    await again.text();
  });

  test('that comes byte by byte is cut off', async () => {
    const answer = await dribbled;
    expect(answer === '' || answer.startsWith('HTTP/1.1 408')).toBe(true);
  }, 30_000);

  test('is not read in a request line or header that is too long', async () => {
    const query = encodeURIComponent(`{ __typename ${' '.repeat(20_000)} }`);
    const long = await fetch(`${server.url}/graphql?query=${query}`).catch(() => undefined);
    expect([undefined, 414, 431]).toContain(long?.status);
  });
});

/** What comes back to a client that sends one byte of its body a second; empty if it is cut off. */
function dribble(): Promise<string> {
  const { hostname, port } = new URL(server.url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let answer = '';
    socket.write(
      `POST /graphql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${server.apiKey}\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n`,
    );
    const timer = setInterval(() => socket.write(' '), 1_000);
    socket.on('data', (chunk) => {
      answer += chunk.toString();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearInterval(timer);
      resolve(answer);
    });
  });
}

describe('the method', () => {
  const preflight = { 'apollo-require-preflight': '1' };
  const get = (query: string, variables: unknown, more: Record<string, string> = {}) => {
    const search = new URLSearchParams({ query, variables: JSON.stringify(variables) });
    const { operation, ...headers } = more;
    if (operation !== undefined) search.set('operationName', operation);
    return fetch(`${server.url}/graphql?${search}`, {
      headers: { authorization: `Bearer ${server.apiKey}`, accept: 'application/json', ...headers },
    });
  };

  test('GET asks, and never pays', async () => {
    const key = freshKey();
    const variables = { key, input: EUR_10_50 };
    const plain = await get(PAY, variables);
    expect([400, 405]).toContain(plain.status);
    const asked = await get(PAY, variables, preflight);
    expect(asked.status).toBe(405);
    expect(asked.headers.get('allow')).toBe('POST');
    const both = `${PAY} query Look { payments { nodes { id } } }`;
    expect((await get(both, variables, { ...preflight, operation: 'Pay' })).status).toBe(405);
    const looked = await get(both, variables, { ...preflight, operation: 'Look' });
    expect(looked.status).toBe(200);
    expect(await looked.json()).toHaveProperty('data.payments');
    await expectNothingDone(key);
  });

  test.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'])('%s is refused', async (method) => {
    const response = await fetch(`${server.url}/graphql`, {
      method,
      headers: { origin: 'https://elsewhere.example' },
    });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toContain('POST');
    expect(response.headers.has('access-control-allow-origin')).toBe(false);
  });

  test('elsewhere there is nothing to be posted to', async () => {
    for (const path of ['/', '/other', '/healthz', '/graphql/']) {
      const response = await fetch(`${server.url}${path}`, { method: 'POST', body: '{}' });
      expect([404, 405]).toContain(response.status);
      expectTidy(await response.text());
    }
    expect((await fetch(`${server.url}/../../etc/passwd`)).status).toBe(404);
  });
});

describe('the document', () => {
  const variablesFor = (key: string) => ({ key, input: EUR_10_50 });
  const field = (alias: string, key = '$key') =>
    `${alias} createPayment(idempotencyKey: ${key}, input: $input) { payment { id } }`;
  const head = '($key: IdempotencyKey!, $input: CreatePaymentInput!)';

  test.each([
    ['two aliases', `mutation${head} { ${field('a:')} ${field('b:')} }`],
    ['two aliases with two keys', `mutation${head} { ${field('a:', '"k-1"')} ${field('b:')} }`],
    [
      'one of them in a fragment',
      `mutation${head} { ${field('a:')} ...F } fragment F on Mutation { ${field('b:')} }`,
    ],
    [
      'both in one fragment',
      `mutation${head} { ...F } fragment F on Mutation { ${field('a:')} ... { ${field('b:')} } }`,
    ],
    [
      'a second one under @skip',
      `mutation${head} { ${field('a:')} b: createPayment(idempotencyKey: $key, input: $input) @skip(if: true) { payment { id } } }`,
    ],
    [
      'a second one in a fragment not included',
      `mutation${head} { ${field('a:')} ... @include(if: false) { ${field('b:')} } }`,
    ],
    ['one name with two keys', `mutation${head} { ${field('')} ${field('', '"k-2"')} }`],
    [
      '@defer',
      `mutation${head} { createPayment(idempotencyKey: $key, input: $input) { ... @defer { payment { status } } } }`,
    ],
    [
      '@stream',
      `mutation${head} { createPayment(idempotencyKey: $key, input: $input) { userErrors @stream { code } } }`,
    ],
    [
      'an unknown field',
      `mutation${head} { createPayment(idempotencyKey: $key, input: $input) { charge } }`,
    ],
    ['no selection', `mutation${head} { createPayment(idempotencyKey: $key, input: $input) }`],
    [
      'two operations without a name',
      `mutation A${head} { ${field('')} } mutation B${head} { ${field('')} }`,
    ],
    [
      'fragments in a circle',
      `mutation${head} { ...F } fragment F on Mutation { ...G } fragment G on Mutation { ...F }`,
    ],
    [
      '1,000 aliases',
      `mutation${head} { ${Array.from({ length: 1_000 }, (_, i) => field(`a${i}:`, `"k-${i}"`)).join(' ')} }`,
    ],
    [
      'twenty aliases of one payment',
      `mutation${head} { createPayment(idempotencyKey: $key, input: $input) { ${Array.from({ length: 20 }, (_, i) => `a${i}: payment { id }`).join(' ')} } }`,
    ],
    [
      '1,200 directives',
      `mutation${head} { createPayment(idempotencyKey: $key, input: $input) ${'@x '.repeat(1_200)}{ payment { id } } }`,
    ],
  ])('%s: refused before anything is done', async (_name, query) => {
    const key = freshKey();
    const charges = (await world.simulator.requests()).length;
    const body = JSON.stringify({ query, variables: variablesFor(key) });
    const reply = await send(server, body, {
      accept: 'multipart/mixed; deferSpec=20220824, application/json',
    });
    expect([400, 413]).toContain(reply.status);
    expect(reply.body.data ?? null).toBeNull();
    expect((await world.simulator.requests()).length).toBe(charges);
    await expectNothingDone(key);
  });

  test('equal fields under one name are one field', async () => {
    const key = freshKey();
    const query = `mutation${head} {
      ${field('')} ...F ...G ... on Mutation { ${field('')} }
      createPayment(input: $input, idempotencyKey: $key) { idempotency { outcome } } __typename }
      fragment F on Mutation { createPayment(idempotencyKey: $key, input: $input) { payment { status } } }
      fragment G on Mutation { createPayment(idempotencyKey: $key, input: $input) { payment { version } } }`;
    const reply = await ask(server, query, variablesFor(key));
    expect(paid(reply)).toMatchObject({
      payment: { status: 'CAPTURED', version: 2 },
      idempotency: { outcome: 'EXECUTED' },
    });
    expect(await world.executions(key)).toHaveLength(1);
  });

  test.each([
    ['@include', false],
    ['@skip', true],
  ])('a field under %s(if: %s) does not run and uses up no key', async (directive, without) => {
    const key = freshKey();
    const query = `mutation($key: IdempotencyKey!, $input: CreatePaymentInput!, $if: Boolean!) {
      createPayment(idempotencyKey: $key, input: $input) ${directive}(if: $if) {
        payment { status } idempotency { outcome } } }`;
    const absent = await ask(server, query, { ...variablesFor(key), if: without });
    expect(absent.body).toEqual({ data: {} });
    expect(await world.rows(key)).toEqual([]);
    const there = await ask(server, query, { ...variablesFor(key), if: !without });
    expect(paid(there).idempotency.outcome).toBe('EXECUTED');
  });

  test('that nests deep or names too much is refused, also when it only asks', async () => {
    const deep = `{ payments { ${'nodes { '.repeat(15)} id ${'} '.repeat(15)} } }`;
    const many = `{ ${Array.from({ length: 1_000 }, (_, i) => `a${i}: __typename`).join(' ')} }`;
    const schema = `{ __schema { types { fields { type { fields { type { fields { type { fields {
      type { fields { type { fields { type { name } } } } } } } } } } } } } } }`;
    for (const query of [deep, many, schema]) {
      const reply = await ask(server, query);
      expect(reply.status).toBe(400);
      expectTidy(JSON.stringify(reply.body));
    }
  });

  test('the full introspection query of the tools is served', async () => {
    const reply = await ask(server, getIntrospectionQuery());
    expect(reply.body.errors).toBeUndefined();
  });
});

describe('what nobody expected', () => {
  test('is told as a code and an id; the log has the id and no statement', async () => {
    const key = freshKey();
    await world.sql`alter table payments rename to payments_hidden`;
    let replies: Awaited<ReturnType<typeof ask>>[];
    try {
      replies = [await ask(server, '{ payments { nodes { id } } }'), await pay(server, key)];
    } finally {
      await world.sql`alter table payments_hidden rename to payments`;
    }
    for (const { status, body } of replies) {
      expect(status).toBe(500);
      expect(body.errors?.[0]).toMatchObject({
        message: expect.not.stringMatching(/payments_hidden|relation|select|insert/i),
        extensions: { code: 'INTERNAL_SERVER_ERROR', correlationId: expect.any(String) },
      });
      const text = JSON.stringify(body);
      expectTidy(text);
      expect(text).not.toMatch(/\$1|json_to_recordset|42P01|postgres/i);
      const { correlationId } = body.errors?.[0]?.extensions ?? {};
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(server.output()).toContain(correlationId);
    }
    expect(server.output()).not.toMatch(/json_to_recordset|insert into|\$1|order-secret/i);
    await expectNothingDone(key);
  });
});
