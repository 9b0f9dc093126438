import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Apollo } from '../../src/graphql/apollo.ts';
import { Context, GraphQLServer, type Services } from '../../src/graphql/index.ts';
import type { GraphQLRequest } from '../../src/graphql/request.ts';
import { ENDINGS, zoo } from './zoo.ts';

/**
 * What is executed without Apollo is answered as by Apollo: every shape is asked of Apollo alone and
 * three times of the server (new, known, executed at once), and all four answers are the same.
 */

interface Shape {
  readonly body?: unknown;
  readonly request?: Partial<GraphQLRequest>;
  readonly scopes?: readonly string[] | null;
}

const BOTH = ['payments:read', 'payments:write'];
const how = 'query($how: String!) { fails(how: $how) ok }';
const endings = Object.keys(ENDINGS);

/** Documents that run, each with variables that it takes. */
const RUNNING: readonly [string, object?][] = [
  ['{ ok }'],
  ['query Named { ok }'],
  ['{ ok ok again: ok __typename }'],
  ['{ later(ms: 2) ok }'],
  ['{ animal(kind: LION) { __typename name ... on Lion { mane friend { name } } } }'],
  ['{ animal(kind: TIGER) { name kind ... on Tiger { stripes } } }'],
  ['query($of: Int) { any { ... on Tiger { stripes(of: $of) } ... on Lion { name } } }', { of: 1 }],
  ['query($of: Int) { any { ... on Tiger { stripes(of: $of) } } }', {}],
  [
    'query($k: Kind!) { animal(kind: $k) { ...named } } fragment named on Animal { name }',
    { k: 'LION' },
  ],
  ['query($no: Boolean!) { ok @skip(if: $no) later @include(if: $no) }', { no: true }],
  ['query($cage: Cage) { cage(cage: $cage) }', { cage: { kind: 'LION', inner: { size: 1 } } }],
  ['query($cage: Cage) { cage(cage: $cage) }', { cage: null }],
  ['query($cage: Cage = { size: 9 }) { cage(cage: $cage) }', {}],
  ['query($id: ID, $f: Float) { cage(id: $id, float: $f) }', { id: 7, f: 1 }],
  ['query($flag: Boolean! = false) { cage(flag: $flag) }'],
  ['query($names: [String]) { cage(names: $names) }', { names: 'one' }],
  ['query($even: Even) { cage(even: $even) }', { even: 4 }],
  ['{ herd { name mane } ok }'],
  ['{ flock { name mane } ok }'],
  ['{ odd ok }'],
  ['{ caller }'],
  ['mutation { feed(kind: LION) { name friend { name ... on Tiger { stripes } } } }'],
  ['mutation($cage: Cage) { feed(kind: TIGER, cage: $cage) { mane } }', { cage: { list: [1] } }],
  ...endings.flatMap((name): [string, object?][] => [
    [how, { how: name }],
    ['query($how: String!) { must(how: $how) }', { how: name }],
    ['query($how: String!) { ok a: fails(how: $how) b: fails(how: $how) }', { how: name }],
    ['mutation($how: String!) { break(how: $how) }', { how: name }],
  ]),
];

/** The same document in other requests. */
const AROUND: readonly ((body: object) => Shape)[] = [
  (body) => ({ body }),
  (body) => ({ body, request: { accept: 'application/graphql-response+json' } }),
  (body) => ({ body: { ...body, extensions: null, operationName: null, more: 1 } }),
  (body) => ({ body: { ...body, extensions: {} } }),
  (body) => ({ body: { ...body, operationName: 'Named' } }),
  (body) => ({ body: { ...body, operationName: '' } }),
  (body) => ({ body: { ...body, variables: { how: 3, cage: 'none', k: 'BEAR', even: 3 } } }),
  (body) => ({ body, scopes: ['payments:read'] }),
  (body) => ({ body, scopes: ['payments:write'] }),
  (body) => ({ body, scopes: null }),
];

/** What is wrong before anything runs, and what asks for more than an answer. */
const ODD: readonly Shape[] = [
  undefined,
  null,
  [],
  [{ query: '{ ok }' }],
  'text',
  7,
  {},
  { query: '' },
  { query: null },
  { query: 7 },
  { query: '{' },
  { query: '{ nothing }' },
  { query: '{ anima }' },
  { query: '{ ok }', variables: 'none' },
  { query: '{ ok }', variables: [] },
  { query: '{ ok }', operationName: 7 },
  { query: '{ ok }', operationName: {} },
  { query: '{ ok }', extensions: 'none' },
  { query: '{ ok }', extensions: { persistedQuery: { version: 1, sha256Hash: 'x' } } },
  { query: 'query A { ok } query B { caller }' },
  { query: 'query A { ok } query B { caller }', operationName: 'A' },
  { query: 'query A { ok } query B { caller }', operationName: 'B' },
  { query: 'query A { ok } query B { caller }', operationName: 'C' },
  { query: 'fragment f on Query { ok }' },
  { query: 'subscription { roars }' },
  { query: '{ __schema { queryType { name } } }' },
  { query: '{ __type(name: "Cage") { name } ok }' },
  { query: 'query($how: String!) { fails(how: $how) }' },
  { query: 'query($how: String!) { fails(how: $how) }', variables: null },
  { query: 'mutation { a: feed(kind: LION) { name } b: feed(kind: LION) { name } }' },
  { query: `{ ${Array.from({ length: 20 }, (_, index) => `a${index}: ok`).join(' ')} }` },
].map((body) => ({ body }));

const ways = (shape: Shape): readonly Shape[] => [
  shape,
  { ...shape, scopes: null },
  { ...shape, request: { accept: 'application/graphql-response+json' } },
];
const get = (search: string, more: Partial<GraphQLRequest> = {}): Shape => ({
  request: { method: 'GET', search, contentType: undefined, ...more },
});
const SHAPES: readonly Shape[] = [
  ...RUNNING.flatMap(([query, variables]) =>
    AROUND.map((around) => around({ query, ...(variables === undefined ? {} : { variables }) })),
  ),
  ...ODD.flatMap(ways),
  get('?query={ok}'),
  get('?query={ok}', { preflighted: true }),
  get('?query={ok}', { contentType: 'application/json' }),
  get(`?query=${encodeURIComponent('mutation { feed(kind: LION) { name } }')}`, {
    preflighted: true,
  }),
];

const seen: string[] = [];
let fed = 0;
const options = {
  schema: zoo(() => {
    fed += 1;
  }),
  introspection: false,
  hideSuggestions: true,
  onInternalError: (error: unknown) => seen.push(String(error)),
  onRefused: (code: string) => seen.push(code),
};
const reference = new Apollo(options);
const server = new GraphQLServer(options);
beforeAll(() => Promise.all([reference.start(), server.start()]));
afterAll(() => Promise.all([reference.stop(), server.stop()]));

async function ask(of: Pick<Apollo, 'answer'>, { body, request, scopes = BOTH }: Shape) {
  seen.length = 0;
  fed = 0;
  const context = new Context({
    services: {} as Services,
    caller: scopes === null ? undefined : { merchantId: 'zoo', scopes: new Set(scopes) },
    idempotencyKeyHeader: undefined,
  });
  const plain = { method: 'POST', search: '', accept: 'application/json', preflighted: false };
  const contentType = 'application/json';
  const { status, headers, text } = await of.answer({
    ...plain,
    contentType,
    body,
    context,
    ...request,
  });
  return {
    status,
    headers: Object.fromEntries(headers),
    text: text.replace(/[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}/g, 'an id'),
    seen: [...seen],
    fed,
  };
}

describe('an operation that is known', () => {
  test('is answered as Apollo answers it, in every shape', async () => {
    expect(SHAPES.length).toBeGreaterThanOrEqual(500);
    const apollo = vi.spyOn(Apollo.prototype, 'answer');
    let atOnce = 0;
    for (const shape of SHAPES) {
      const wanted = await ask(reference, shape);
      for (const turn of ['new', 'known', 'at once']) {
        apollo.mockClear();
        const answer = await ask(server, shape);
        expect(answer, `${turn}: ${JSON.stringify(shape)}`).toEqual(wanted);
        if (turn === 'at once' && apollo.mock.calls.length === 0) atOnce += 1;
      }
    }
    // Not the wrong ones, the unauthorised ones and those with a name that is not there.
    expect(atOnce).toBeGreaterThan(200);
    apollo.mockRestore();
  }, 120_000);

  test('stays known, however many documents come once', async () => {
    const often = { body: { query: '{ often: ok }' } };
    for (let turn = 0; turn < 2; turn += 1) await ask(server, often);
    for (let once = 0; once < 1_200; once += 1) {
      await ask(server, { body: { query: `{ once${once}: ok }` } });
    }
    const apollo = vi.spyOn(Apollo.prototype, 'answer');
    expect((await ask(server, often)).text).toBe('{"data":{"often":true}}');
    expect(apollo).not.toHaveBeenCalled();
    apollo.mockRestore();
  });
});
