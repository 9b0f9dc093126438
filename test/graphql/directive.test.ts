import { ApolloServer } from '@apollo/server';
import { makeExecutableSchema } from '@graphql-tools/schema';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type IdempotencyOptions,
  idempotentTypeDefs,
  MemoryStore,
  NotExecuted,
  withIdempotency,
} from '../../src/index.ts';
import { eventually } from '../support/pay.ts';

interface Context {
  readonly tenant: string;
}

const FIELDS = `
  type Query { ok: Boolean }
  type Order { number: Int! item: String! }
  input Options { gift: Boolean note: String }
  type Mutation {
    order(idempotencyKey: ID!, item: String!, count: Int = 1, options: Options): Order @idempotent
    cancel(idempotencyKey: ID!, item: String!): Boolean @idempotent
    hurry(requestId: String!, item: String!): Order @idempotent(keyArg: "requestId", onInFlight: REFUSE)
    brief(idempotencyKey: String!): Int @idempotent(answerTtl: 1)
    plain(item: String!): Order
  }`;

/** A shop of somebody else's: numbers its orders, and fails as it is told to. */
class Shop {
  begun = 0;
  orders = 0;
  fail: Error | undefined;
  gate: Promise<void> = Promise.resolve();

  async order(_source: unknown, { item }: { item: string }) {
    this.begun += 1;
    await this.gate;
    this.orders += 1;
    if (this.fail !== undefined) throw this.fail;
    return { number: this.orders, item };
  }
}

const open: ApolloServer<Context>[] = [];
afterEach(() => Promise.all(open.splice(0).map((server) => server.stop())));

function shop(more: Partial<IdempotencyOptions<Context>> = {}) {
  const own = new Shop();
  const order = own.order.bind(own);
  const brief = async () => {
    own.orders += 1;
    return own.orders;
  };
  const resolvers = { Mutation: { order, hurry: order, plain: order, cancel: () => true, brief } };
  // The three lines that a schema of one's own needs.
  const typeDefs = [idempotentTypeDefs, FIELDS];
  const schema = makeExecutableSchema<Context>({ typeDefs, resolvers });
  const once = withIdempotency<Context>(schema, {
    store: new MemoryStore(),
    scope: ({ tenant }) => tenant,
    ...more,
  });
  const server = new ApolloServer<Context>({ schema: once });
  open.push(server);
  const run = async (query: string, tenant = 'a') => {
    const { body } = await server.executeOperation({ query }, { contextValue: { tenant } });
    if (body.kind !== 'single') throw new Error('not a single result');
    const { data, errors } = body.singleResult;
    return { data, code: errors?.[0]?.extensions?.['code'], errors };
  };
  return { shop: own, run };
}

const order = (key: string, item = 'tea', more = '') =>
  `mutation { order(idempotencyKey: "${key}", item: "${item}" ${more}) { number item } }`;

describe('a mutation that carries the directive', () => {
  test('runs once for each key, and a retry gets the first answer', async () => {
    const { shop: own, run } = shop();
    const first = await run(order('k'));
    expect(first.data).toEqual({ order: { number: 1, item: 'tea' } });
    expect(await run(order('k'))).toEqual(first);
    expect(
      await run(`mutation { x: order(item: "tea", idempotencyKey: "k") { n: number } }`),
    ).toMatchObject({
      data: { x: { n: 1 } },
    });
    expect((await run(order('l'))).data).toEqual({ order: { number: 2, item: 'tea' } });
    expect(own.orders).toBe(2);
  });

  test('is left alone without it', async () => {
    const { shop: own, run } = shop();
    const plain = 'mutation { plain(item: "tea") { number } }';
    await run(plain);
    await run(plain);
    expect(own.orders).toBe(2);
  });

  test('refuses another payload and another operation under the same key', async () => {
    const { shop: own, run } = shop();
    await run(order('k'));
    const payload = await run(order('k', 'coffee'));
    expect(payload).toMatchObject({ data: { order: null }, code: 'IDEMPOTENCY_KEY_REUSED' });
    expect(payload.errors?.[0]?.extensions).toMatchObject({ reason: 'PAYLOAD', retryable: false });
    const operation = await run('mutation { cancel(idempotencyKey: "k", item: "tea") }');
    expect(operation.code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(operation.errors?.[0]?.extensions).toMatchObject({ reason: 'OPERATION' });
    expect(JSON.stringify([payload, operation])).not.toMatch(/tea|coffee/);
    expect(own.orders).toBe(1);
  });

  test('takes a default, null and a left-out member for the same', async () => {
    const { shop: own, run } = shop();
    await run(order('k'));
    for (const more of [', count: 1', ', options: null', ', count: 1, options: null']) {
      expect((await run(order('k', 'tea', more))).data).toEqual({
        order: { number: 1, item: 'tea' },
      });
    }
    await run(order('l', 'tea', ', options: { gift: true }'));
    const same = await run(order('l', 'tea', ', options: { note: null, gift: true }'));
    expect(same.data).toEqual({ order: { number: 2, item: 'tea' } });
    expect((await run(order('k', 'tea', ', count: 2'))).code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(own.orders).toBe(2);
  });

  test('keeps the keys of two scopes apart', async () => {
    const { shop: own, run } = shop();
    const ofA = await run(order('k'), 'a');
    const ofB = await run(order('k', 'coffee'), 'b');
    expect(ofB.data).toEqual({ order: { number: 2, item: 'coffee' } });
    expect(await run(order('k'), 'a')).toEqual(ofA);
    expect(own.orders).toBe(2);
  });

  test.each(['', ' ', 'a b', 'ä', 'a\\u0000', 'k'.repeat(256)])(
    'refuses the key %j',
    async (key) => {
      const { shop: own, run } = shop();
      expect((await run(order(key))).code).toBe('IDEMPOTENCY_KEY_INVALID');
      expect(own.orders).toBe(0);
    },
  );

  test('asks the check first; what it refuses leaves no trace of the key', async () => {
    let strict = true;
    const { shop: own, run } = shop({
      check: ({ field, args }) => {
        if (strict) throw new Error(`${field} ${Object.keys(args).join()}`);
      },
    });
    expect((await run(order('k'))).errors?.[0]?.message).toBe('order item,count');
    strict = false;
    expect((await run(order('k', 'coffee'))).data).toMatchObject({ order: { number: 1 } });
    expect(own.orders).toBe(1);
  });

  test('shows the receipt if it is told how', async () => {
    const { run } = shop({
      present: (answer, { key, how }) => ({ ...(answer as object), item: `${key} ${how}` }),
    });
    expect((await run(order('k'))).data).toMatchObject({ order: { item: 'k EXECUTED' } });
    expect((await run(order('k'))).data).toMatchObject({ order: { item: 'k REPLAYED' } });
  });

  test('compares the key of a header, if it is told where that is', async () => {
    const { shop: own, run } = shop({ headerKey: () => 'from-header' });
    expect((await run(order('k'))).code).toBe('IDEMPOTENCY_KEY_INVALID');
    expect((await run(order('from-header'))).data).toMatchObject({ order: { number: 1 } });
    expect(own.orders).toBe(1);
  });
});

describe('a resolver that throws', () => {
  test('has pinned "outcome unknown" to the key: it is not run again', async () => {
    const { shop: own, run } = shop();
    own.fail = new Error('connection lost');
    expect((await run(order('k'))).errors?.[0]?.message).toBe('connection lost');
    own.fail = undefined;
    for (let retry = 0; retry < 2; retry += 1) {
      const again = await run(order('k'));
      expect(again.code).toBe('IDEMPOTENCY_OUTCOME_UNKNOWN');
      expect(again.errors?.[0]?.extensions).toMatchObject({ retryable: false });
    }
    expect((await run(order('k', 'coffee'))).code).toBe('IDEMPOTENCY_KEY_REUSED');
    expect(own.orders).toBe(1);
  });

  test('frees the key if it proves that it did nothing', async () => {
    const { shop: own, run } = shop();
    own.fail = new NotExecuted('sold out');
    expect((await run(order('k'))).errors?.[0]?.message).toBe('sold out');
    own.fail = undefined;
    expect((await run(order('k', 'coffee'))).data).toEqual({
      order: { number: 2, item: 'coffee' },
    });
    expect(own.orders).toBe(2);
  });
});

describe('a duplicate of a call that still runs', () => {
  const begun = (own: Shop) =>
    eventually(
      async () => own.begun,
      (count) => count > 0,
    );
  const gate = () => {
    let lift = (): void => {};
    const gated = new Promise<void>((resolve) => {
      lift = resolve;
    });
    return { gated, lift };
  };

  test('joins it', async () => {
    const { shop: own, run } = shop();
    const { gated, lift } = gate();
    own.gate = gated;
    const calls = Array.from({ length: 20 }, () => run(order('k')));
    lift();
    for (const { data } of await Promise.all(calls)) {
      expect(data).toEqual({ order: { number: 1, item: 'tea' } });
    }
    expect(own.orders).toBe(1);
  });

  test('is told to ask again when the wait ends', async () => {
    const { shop: own, run } = shop({ joinWaitMs: 20 });
    const { gated, lift } = gate();
    own.gate = gated;
    const running = run(order('k'));
    await begun(own);
    const early = await run(order('k'));
    expect(early.code).toBe('IDEMPOTENCY_IN_PROGRESS');
    expect(early.errors?.[0]?.extensions?.['retryAfterMs']).toBeGreaterThan(0);
    expect((await run(order('k', 'coffee'))).code).toBe('IDEMPOTENCY_KEY_REUSED');
    lift();
    await running;
    expect((await run(order('k'))).data).toMatchObject({ order: { number: 1 } });
  });

  test('is refused at once if the field says so', async () => {
    const { shop: own, run } = shop();
    const { gated, lift } = gate();
    own.gate = gated;
    const hurry = 'mutation { hurry(requestId: "k", item: "tea") { number } }';
    const running = run(hurry);
    await begun(own);
    expect((await run(hurry)).code).toBe('IDEMPOTENCY_IN_PROGRESS');
    lift();
    expect((await running).data).toMatchObject({ hurry: { number: 1 } });
    expect((await run(hurry)).data).toMatchObject({ hurry: { number: 1 } });
    expect(own.orders).toBe(1);
  });
});

describe('the life of an answer', () => {
  test('is as long as the field says', async () => {
    const { shop: own, run } = shop();
    const brief = 'mutation { brief(idempotencyKey: "k") }';
    expect((await run(brief)).data).toEqual({ brief: 1 });
    expect((await run(brief)).data).toEqual({ brief: 1 });
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect((await run(brief)).data).toEqual({ brief: 2 });
    expect(own.orders).toBe(2);
  });
});

describe('a store that fails', () => {
  test('without a journal nothing is run: unavailable, and the key is free afterwards', async () => {
    const store = new MemoryStore();
    const claim = store.claim.bind(store);
    let broken = true;
    store.claim = (...ask) => (broken ? Promise.reject(new Error('gone')) : claim(...ask));
    const { shop: own, run } = shop({ store });
    const refused = await run(order('k'));
    expect(refused.code).toBe('IDEMPOTENCY_UNAVAILABLE');
    expect(refused.errors?.[0]?.extensions).toMatchObject({
      retryable: true,
      safeToRetryWithSameKey: true,
    });
    broken = false;
    expect((await run(order('k'))).data).toMatchObject({ order: { number: 1 } });
    expect(own.orders).toBe(1);
  });
});

describe('misuse fails when the schema is built', () => {
  const build = (mutations: string, more = '') =>
    withIdempotency<Context>(
      makeExecutableSchema<Context>({
        typeDefs: [
          idempotentTypeDefs,
          `type Query { ok: Boolean } type Mutation { ${mutations} } ${more}`,
        ],
      }),
      { store: new MemoryStore(), scope: ({ tenant }) => tenant },
    );

  test.each([
    ['no key argument', 'pay(item: String): Int @idempotent', '', /Mutation\.pay.*idempotencyKey/],
    [
      'a nullable key argument',
      'pay(idempotencyKey: String): Int @idempotent',
      '',
      /Mutation\.pay.*non-null/,
    ],
    [
      'another name for it',
      'pay(idempotencyKey: String!): Int @idempotent(keyArg: "key")',
      '',
      /Mutation\.pay.*"key"/,
    ],
    [
      'not on the mutation root',
      'pay: Deep',
      'type Deep { pay(idempotencyKey: String!): Int @idempotent }',
      /Deep\.pay.*mutation/,
    ],
    [
      'an answer that never lives',
      'pay(idempotencyKey: String!): Int @idempotent(answerTtl: 0)',
      '',
      /Mutation\.pay.*answerTtl/,
    ],
  ])('%s', (_name, mutations, more, message) => {
    expect(() => build(mutations, more)).toThrow(TypeError);
    expect(() => build(mutations, more)).toThrow(message);
  });

  test('on a query', () => {
    const typeDefs = [
      idempotentTypeDefs,
      'type Query { ok(idempotencyKey: String!): Int @idempotent } type Mutation { ok: Int }',
    ];
    const schema = makeExecutableSchema<Context>({ typeDefs });
    expect(() =>
      withIdempotency<Context>(schema, { store: new MemoryStore(), scope: () => '' }),
    ).toThrow(/Query\.ok.*mutation/);
  });

  test('a mutation root of another name is one', () => {
    const typeDefs = [
      idempotentTypeDefs,
      'schema { query: Q mutation: M } type Q { ok: Int } type M { pay(idempotencyKey: String!): Int @idempotent }',
    ];
    const schema = makeExecutableSchema<Context>({ typeDefs });
    expect(() =>
      withIdempotency<Context>(schema, { store: new MemoryStore(), scope: () => '' }),
    ).not.toThrow();
  });
});
