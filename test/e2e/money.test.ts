import { randomInt, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ask, codeOf, EUR_10_50, freshKey, PAY, paid, pay, send } from '../support/pay.ts';
import type { TestServer } from '../support/with-server.ts';
import { disagreements, startWorld, type World } from './world.ts';

let world: World;
let server: TestServer;

beforeAll(async () => {
  world = await startWorld({ LOG_LEVEL: 'trace' });
  server = await world.server();
}, 120_000);

afterAll(() => world.end(), 60_000);

/** The amount as it is written in the JSON of the request. */
const payWritten = (key: string, amountMinor: string, currency = '"EUR"') =>
  send(
    server,
    `{"query":${JSON.stringify(PAY)},"variables":{"key":"${key}","input":{"amount":{"amountMinor":${amountMinor},"currency":${currency}},"paymentMethod":"pm_ok"}}}`,
  );

const payLiteral = (key: string, amountMinor: string, currency = '"EUR"') =>
  ask(
    server,
    `mutation { createPayment(idempotencyKey: "${key}", input: { amount: { amountMinor: ${amountMinor},
      currency: ${currency} }, paymentMethod: "pm_ok" }) { payment { status amount { amountMinor } } } }`,
  );

/** Refused for its input, and the key is as if it had never been used. */
async function expectRefused(
  key: string,
  reply: Awaited<ReturnType<typeof ask>>,
  codes = ['BAD_USER_INPUT'],
): Promise<void> {
  expect(reply.status).toBe(400);
  expect(codes).toContain(codeOf(reply));
  expect(reply.body.data ?? null).toBeNull();
  expect(await world.rows(key)).toEqual([]);
  expect(paid(await pay(server, key)).idempotency).toMatchObject({
    outcome: 'EXECUTED',
    attempt: 1,
  });
}

describe('amounts', () => {
  test.each([
    ['JPY', 500, '500', '500.0000'],
    ['USD', 1_050, '10.50', '10.5000'],
    ['KWD', 1_500, '1.500', '1.5000'],
    ['CLF', 12_345, '1.2345', '1.2345'],
    ['JPY', 1, '1', '1.0000'],
    ['KWD', 1, '0.001', '0.0010'],
    ['IDR', 2_147_483_648, '21474836.48', '21474836.4800'],
    ['EUR', 99_999_999_999_999, '999999999999.99', '999999999999.9900'],
    ['JPY', 99_999_999_999_999, '99999999999999', '99999999999999.0000'],
    ['CLF', 99_999_999_999_999, '9999999999.9999', '9999999999.9999'],
  ])(
    '%s %i is %s in the API, the journal and the PSP',
    async (currency, amountMinor, decimal, journaled) => {
      const key = freshKey();
      const reply = await pay(server, key, { amount: { amountMinor, currency } });
      expect(paid(reply).payment).toMatchObject({
        status: 'CAPTURED',
        amount: { amountMinor, currency, decimal },
      });
      const [row] = await world.rows(key);
      expect(row).toMatchObject({ amount: journaled, amount_minor: `${amountMinor}`, currency });
      expect(await world.executions(key)).toMatchObject([{ amountMinor, currency }]);
    },
  );

  test('a sum above 32 bits breaks no query', async () => {
    const { body } = await ask(
      server,
      '{ payments(first: 100) { nodes { amount { amountMinor decimal } } } }',
    );
    expect(body.errors).toBeUndefined();
  });

  test.each([
    ...['0', '-1', '-0', '0.0', '1.5', '19.99', '1e-2', '-2147483648', '1e400'],
    ...['9007199254740992', '100000000000000', '1e14', '4242424242424242'],
    ...['"1e3"', '"0"', '"-1"', '"+1"', '"1.0"', '"01"', '" 1"', '"1 "', '""', '"ten"', '"0x10"'],
    ...['"100000000000000"', '"９"', 'true', 'null', '[]', '[100]', '{}', '{"amountMinor":1}'],
  ])('%s is none, and nothing is consumed', async (written) => {
    const key = freshKey();
    await expectRefused(key, await payWritten(key, written));
  });

  test.each([
    '0',
    '-1',
    '-0',
    '1.0',
    '1e2',
    '1.5',
    '100000000000000',
    '"1e3"',
    '""',
    'true',
    'null',
    '[1]',
    'A',
    '{}',
  ])('neither is %s in the document', async (literal) => {
    const key = freshKey();
    const codes = ['BAD_USER_INPUT', 'GRAPHQL_VALIDATION_FAILED'];
    await expectRefused(key, await payLiteral(key, literal), codes);
  });

  test.each(['"12"', '12', '12.0', '1.2e1'])('%s is twelve', async (written) => {
    const key = freshKey();
    const reply = await payWritten(key, written);
    expect(paid(reply).payment).toMatchObject({ amount: { amountMinor: 12 } });
  });

  test.each(['"12"', '12', '"""12"""'])('%s is twelve in the document, too', async (literal) => {
    const reply = await payLiteral(freshKey(), literal);
    expect(paid(reply).payment).toMatchObject({ amount: { amountMinor: 12 } });
  });

  test('the refusal names the argument and what is accepted', async () => {
    const reply = await payWritten(freshKey(), '0');
    const message = reply.body.errors?.[0]?.message;
    expect(message).toContain('input.amount.amountMinor');
    expect(message).toContain('99999999999999');
  });
});

describe('currencies', () => {
  test.each([
    'HRK',
    'BGN',
    'ZWL',
    'SLL',
    'XAU',
    'XXX',
    'XTS',
    'XDR',
    'ABC',
    'EU',
    'EURO',
    '',
    ' EUR',
    '€',
    'ＥＵＲ',
    'null',
  ])('%j is none today, and nothing is consumed', async (code) => {
    const key = freshKey();
    const reply = await pay(server, key, { amount: { amountMinor: 1, currency: code } });
    expect(reply.body.errors?.[0]?.message).toContain('input.amount.currency');
    await expectRefused(key, reply);
  });

  test.each(['978', 'true', 'null', '["EUR"]', '{}'])('%s is none', async (written) => {
    const key = freshKey();
    await expectRefused(key, await payWritten(key, '1', written));
  });

  test.each(['ZWG', 'SLE', 'VED', 'XCG', 'MGA', 'UYW'])('%s is one today', async (currency) => {
    const reply = await pay(server, freshKey(), { amount: { amountMinor: 1, currency } });
    expect(paid(reply).payment).toMatchObject({ amount: { currency } });
  });

  test('usd, Usd and USD are one currency, under one key', async () => {
    const key = freshKey();
    for (const currency of ['usd', 'Usd', 'USD']) {
      const reply = await pay(server, key, { amount: { amountMinor: 1_050, currency } });
      expect(paid(reply).payment).toMatchObject({ amount: { currency: 'USD' } });
    }
    expect(await world.executions(key)).toMatchObject([{ currency: 'USD' }]);
    expect((await world.rows(key))[0]?.currency).toBe('USD');
  });

  test('a PSP that answers in lower case means the same currency', async () => {
    const reply = await pay(server, freshKey(), { paymentMethod: 'pm_lowercase_currency' });
    expect(paid(reply).payment?.status).toBe('CAPTURED');
  });
});

/** Test numbers of card schemes, with 13 to 19 digits. */
const CARDS = [
  '4242424242424242',
  '4222222222222',
  '30569309025904',
  '378282246310005',
  '6304000000000000018',
] as const;
const GROUPED = [
  '4242 4242 4242 4242',
  '4242-4242-4242-4242',
  '3782 822463 10005',
  '4242\u00a04242\u20134242 - 4242',
  '４２４２４２４２４２４２４２４２',
  '4242.4242.4242.4242',
  '4242_4242/4242,4242',
  '4242\u200b4242\u200b4242\u200b4242',
] as const;

/** Every trace a number may have left: as it was written, or as its digits. */
function expectUnseen(text: string, card: string): void {
  const digits = (from: string): string =>
    from.normalize('NFKC').replace(/[\s\-\u2010-\u2015\u200b._/,]/g, '');
  expect(digits(text).includes(digits(card))).toBe(false);
}

describe('card numbers', () => {
  const places: readonly [string, (card: string) => Record<string, unknown>][] = [
    ['the payment method', (card) => ({ paymentMethod: card })],
    ['a payment method around it', (card) => ({ paymentMethod: `pm_${card}_x` })],
    ['the transaction id', (card) => ({ transactionId: card })],
    ['the description', (card) => ({ description: `Card ${card}, 12/30` })],
    ['a metadata value', (card) => ({ metadata: { card } })],
    ['a list in the metadata', (card) => ({ metadata: { cards: ['x', [card]] } })],
    ['a metadata name', (card) => ({ metadata: { [card]: 'x' } })],
    ['a name deep in the metadata', (card) => ({ metadata: { a: { [`n ${card}`]: 1 } } })],
    ['the currency', (card) => ({ amount: { amountMinor: 1, currency: card } })],
    ['an unknown member', (card) => ({ [card]: 1 })],
    ['the value of an unknown member', (card) => ({ more: card })],
    ['a list for a text', (card) => ({ description: [card] })],
    ['an object for a text', (card) => ({ description: { card } })],
  ];
  const cases = places.flatMap(([place, put]) =>
    [...CARDS, ...GROUPED].map((card) => [card, place, put(card)] as const),
  );

  test.each(cases)('%s in %s is refused and not echoed', async (card, _place, more) => {
    const key = freshKey();
    const reply = await send(
      server,
      JSON.stringify({ query: PAY, variables: { key, input: { ...EUR_10_50, ...more } } }),
    );
    expect(reply.status).toBe(400);
    expect(codeOf(reply)).toBe('BAD_USER_INPUT');
    expectUnseen(reply.text, card);
    expect(await world.rows(key)).toEqual([]);
  });

  test.each(CARDS.slice(0, 4))('the number %s in the metadata is refused', async (card) => {
    const key = freshKey();
    for (const metadata of [`{"card":${card}}`, `{"a":[{"b":${card}.0}]}`]) {
      const reply = await send(
        server,
        `{"query":${JSON.stringify(PAY)},"variables":{"key":"${key}","input":{"amount":{"amountMinor":1,"currency":"EUR"},"paymentMethod":"pm_ok","metadata":${metadata}}}}`,
      );
      expect(reply.status).toBe(400);
      expectUnseen(reply.text, card);
    }
    expect(await world.rows(key)).toEqual([]);
  });

  test.each([...CARDS, '4242-4242-4242-4242'])('%s is no key', async (card) => {
    for (const key of [card, `order-${card}`, `${card}/1`]) {
      const reply = await pay(server, key);
      expect(reply.status).toBe(400);
      expect(codeOf(reply)).toBe('IDEMPOTENCY_KEY_INVALID');
      expectUnseen(JSON.stringify(reply.body), card);
      const header = await pay(server, freshKey(), {}, { 'idempotency-key': key });
      expect(header.status).toBe(400);
      expectUnseen(JSON.stringify(header.body), card);
      expect(await world.rows(key)).toEqual([]);
    }
  });

  test.each([CARDS[0], GROUPED[0], GROUPED[4]])(
    '%s anywhere else in a request is not echoed',
    async (card) => {
      const text = JSON.stringify(card);
      const digits = card.normalize('NFKC').replaceAll(' ', '');
      const bodies = [
        { query: `{ payment(by: { id: ${text} }) { id } }` },
        { query: `{ payment(by: { transactionId: ${text} }) { id } }` },
        { query: `{ payment(by: { pspReference: ${text} }) { id } }` },
        { query: `{ payment(by: { idempotencyKey: ${text} }) { id } }` },
        { query: `{ idempotencyKey(key: ${text}) { state } }` },
        { query: `{ payments(after: ${text}) { nodes { id } } }` },
        { query: `{ payments(first: ${digits}) { nodes { id } } }` },
        { query: `{ n${digits} }` },
        { query: `{ payment(${text}) }` },
        { query: `query($f${digits}: X) { payments { nodes { id } } }` },
        { query: '{ payments { nodes { id } } }', operationName: card },
        {
          query: 'query($by: PaymentLookup!) { payment(by: $by) { id } }',
          variables: { by: { [card]: 1 } },
        },
        {
          query: 'query($by: PaymentLookup!) { payment(by: $by) { id } }',
          variables: { by: card },
        },
        {
          query: 'query($first: Int) { payments(first: $first) { nodes { id } } }',
          variables: { first: card },
        },
        {
          query: `mutation { createPayment(idempotencyKey: "${randomUUID()}", input: {
          amount: { amountMinor: ${digits}, currency: "EUR" }, paymentMethod: "pm_ok" }) { payment { id } } }`,
        },
        {
          query: `mutation { createPayment(idempotencyKey: "${randomUUID()}", input: {
          amount: { amountMinor: 1, currency: ${text} }, paymentMethod: "pm_ok" }) { payment { id } } }`,
        },
        {
          query: `mutation { createPayment(idempotencyKey: "${randomUUID()}", input: {
          amount: { amountMinor: 1, currency: "EUR" }, paymentMethod: "pm_ok",
          metadata: { n: ${digits} } }) { payment { id } } }`,
        },
      ];
      for (const body of bodies)
        expectUnseen((await send(server, JSON.stringify(body))).text, card);
      for (const broken of [
        `{"query": ${text}`,
        text,
        `{"query":"{ ${digits} }","variables":${text}}`,
      ]) {
        expectUnseen((await send(server, broken)).text, card);
      }
      const path = `${server.url}/graphql?query=${encodeURIComponent(`{ x${digits} }`)}`;
      const got = await fetch(path, { headers: { 'apollo-require-preflight': '1' } });
      expectUnseen(await got.text(), card);
    },
  );

  test('none of them is in the log, the database, Redis or at the PSP', async () => {
    const tables = await world.sql<{ name: string }[]>`
      select format('%I.%I', schemaname, tablename) as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`;
    const rows = await Promise.all(
      tables.map(({ name }) => world.sql.unsafe(`select t::text as row from ${name} t`)),
    );
    const redis = world.redis.client();
    const names = await redis.keys('*');
    const kept = await Promise.all(names.map((name) => redis.get(name)));
    const sent = await world.simulator.requests();
    for (const card of [...CARDS, ...GROUPED]) {
      expectUnseen(server.output(), card);
      for (const { row } of rows.flat() as unknown as { row: string }[]) expectUnseen(row, card);
      expectUnseen(JSON.stringify([names, kept, sent]), card);
    }
  });

  test('an amount may look like one', async () => {
    const amount = { amountMinor: 4_222_222_222_222, currency: 'JPY' };
    expect(paid(await pay(server, freshKey(), { amount })).payment?.status).toBe('CAPTURED');
  });

  test('digits that fail the check, or are too many or too few, are none', async () => {
    const key = freshKey();
    const description = '4242424242424243 424242424242 42424242424242424242 (0)30 1234-5678';
    expect(paid(await pay(server, key, { description })).payment?.status).toBe('CAPTURED');
  });

  test('neither a time in ms nor a place on the map is one, though its digits add up', async () => {
    const key = `order-1796006701066-${randomUUID()}`;
    const metadata = { at: 1_796_006_701_066, place: '52.520008,13.404955', n: '3.14159265358973' };
    expect(paid(await pay(server, key, { metadata })).payment?.status).toBe('CAPTURED');
  });

  test('a UUID is none, whatever its digits and whatever stands beside it', async () => {
    const digits = (count: number) => Array.from({ length: count }, () => randomInt(10)).join('');
    const uuid = () => `${digits(8)}-${digits(4)}-4${digits(3)}-8${digits(3)}-${digits(12)}`;
    const around: readonly ((id: string) => string)[] = [
      (id) => id,
      (id) => `order_${id}`,
      (id) => `id${id}`,
      (id) => `key-${id}`,
      (id) => `${id}_1`,
      (id) => `urn:uuid:${id}`,
      (id) => `(${id}), ${id}.`,
    ];
    for (const write of around) {
      const metadata = Object.fromEntries(
        Array.from({ length: 50 }, (_, index) => [`m${index}`, write(uuid())]),
      );
      const reply = await pay(server, freshKey(), { metadata });
      expect(reply.body.errors).toBeUndefined();
      expect(paid(reply).payment?.status).toBe('CAPTURED');
    }
    for (const write of around.slice(0, 6)) {
      for (let round = 0; round < 10; round += 1) {
        expect(paid(await pay(server, write(uuid()))).payment?.status).toBe('CAPTURED');
      }
    }
  });

  test('nor is the name of 32, 40 or 64 hexadecimal digits that happens to hold one', async () => {
    for (const length of [32, 40, 64]) {
      const name = `${CARDS[0]}f${randomUUID().replaceAll('-', '')}`.repeat(2).slice(0, length - 1);
      for (const key of [`a${name}`, `order_a${name}`]) {
        const reply = await pay(server, key, { description: `a${name}` });
        expect(paid(reply).payment?.status).toBe('CAPTURED');
      }
      expect((await pay(server, `a${name.slice(0, 20)}`)).status).toBe(400);
    }
  });
});

test('after all of that the books agree', async () => {
  expect(await disagreements(world)).toEqual([]);
});
