import { makeExecutableSchema } from '@graphql-tools/schema';
import { GraphQLError, GraphQLScalarType, type GraphQLSchema } from 'graphql';
import { inProgress, keyReused, unauthenticated } from '../../src/graphql/refusals.ts';
import { NotExecuted } from '../../src/idempotency/index.ts';
import { JournalUnavailable } from '../../src/payments/index.ts';

const typeDefs = `
  scalar Even
  enum Kind { LION TIGER }
  interface Animal { name: String! kind: Kind }
  type Lion implements Animal { name: String! kind: Kind mane: Int! friend: Animal }
  type Tiger implements Animal { name: String! kind: Kind stripes(of: Int = 3): [Int!]! }
  union Any = Lion | Tiger
  input Cage { size: Int! = 4 kind: Kind note: String inner: Cage list: [Int!] }
  type Query {
    ok: Boolean!
    later(ms: Int! = 0): String
    animal(kind: Kind!): Animal!
    any: [Any]
    cage(cage: Cage, id: ID, even: Even, float: Float, flag: Boolean! = true, names: [String]): String
    fails(how: String!): String
    must(how: String!): String!
    herd: [Lion!]
    flock: [Lion]
    odd: Even
    caller: String
  }
  type Mutation { feed(kind: Kind!, cage: Cage): Lion! break(how: String!): Boolean! }
  type Subscription { roars: Int }`;

/** Every way in which a field can end that an answer may show. */
export const ENDINGS: Readonly<Record<string, () => Error>> = {
  plain: () => new Error('a secret of ours'),
  graphql: () => new GraphQLError('a message without a code'),
  coded: () => new GraphQLError('a word of warning', { extensions: { code: 'BAD_USER_INPUT' } }),
  strange: () => new GraphQLError('hm', { extensions: { code: 'NO_SUCH_CODE', secret: 1 } }),
  card: () =>
    new GraphQLError('4111 1111 1111 1111 is bad', { extensions: { code: 'BAD_REQUEST' } }),
  busy: () => inProgress(1_500),
  reused: () => keyReused({ reason: 'PAYLOAD', paths: ['input.amount'] }),
  nobody: () => unauthenticated(),
  journal: () => new JournalUnavailable('the database is away'),
  unsent: () => new NotExecuted('nothing', { cause: new JournalUnavailable('away') }),
};

function fail(how: string): never {
  throw ENDINGS[how]?.() ?? new TypeError(`no such ending: ${how}`);
}

/** A schema with something of everything. @param onFed told of each execution of a mutation */
export function zoo(onFed: () => void): GraphQLSchema {
  const lion = { __typename: 'Lion', name: 'Leo', kind: 'LION', mane: 7 };
  const tiger = { __typename: 'Tiger', name: 'Tia', kind: 'TIGER' };
  const bald = { ...lion, mane: null };
  const Even = new GraphQLScalarType<number, number>({
    name: 'Even',
    serialize: (value) => (Number(value) % 2 === 0 ? Number(value) : fail('plain')),
    parseValue: (value) => (Number(value) % 2 === 0 ? Number(value) : fail('graphql')),
  });
  const Query = {
    ok: () => true,
    later: (_: unknown, { ms }: { ms: number }) =>
      new Promise((resolve) => setTimeout(resolve, ms, 'at last')),
    animal: (_: unknown, { kind }: { kind: string }) => (kind === 'LION' ? lion : tiger),
    any: async () => [lion, null, tiger],
    cage: (_: unknown, args: object) => JSON.stringify(args),
    fails: async (_: unknown, { how }: { how: string }) => fail(how),
    must: (_: unknown, { how }: { how: string }) => fail(how),
    herd: () => [lion, bald],
    flock: () => [lion, bald, null],
    odd: () => 3,
    caller: (_: unknown, __: unknown, context: { caller?: { merchantId: string } }) =>
      context.caller?.merchantId,
  };
  const Mutation = {
    feed: () => {
      onFed();
      return { ...lion, friend: tiger };
    },
    break: async (_: unknown, { how }: { how: string }) => {
      onFed();
      return fail(how);
    },
  };
  const Tiger = { stripes: (_: unknown, { of }: { of: number }) => Array(of).fill(1) };
  return makeExecutableSchema({ typeDefs, resolvers: { Even, Query, Mutation, Tiger } });
}
