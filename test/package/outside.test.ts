import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { transform } from 'esbuild';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startWorld, type World } from '../e2e/world.ts';
import { TEST_API_KEY, type TestServer } from '../support/with-server.ts';
import { type CodegenConfig, generate } from './generate.ts';
import { makeOutsideProject, type OutsideProject } from './project.ts';
import { snippetsOf } from './snippets.ts';

const GUIDE = 'docs/client.md';
const WEBHOOKS = 'docs/webhooks.md';

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    target: 'es2023',
    lib: ['es2023', 'dom'],
    module: 'nodenext',
    moduleResolution: 'nodenext',
    jsx: 'react-jsx',
    types: ['node'],
    resolveJsonModule: true,
    rootDir: '.',
    outDir: 'out',
  },
  exclude: ['out', 'node_modules'],
};

/** A schema of one's own, made to happen once. */
const OWN_SCHEMA = `
import { makeExecutableSchema } from '@graphql-tools/schema';
import { graphql } from 'graphql';
import { idempotentTypeDefs, MemoryStore, withIdempotency } from 'semel';

const FIELDS = 'type Query { ok: Boolean } type Mutation { order(idempotencyKey: ID!): Int @idempotent }';
let orders = 0;
const order = async () => { orders += 1; return orders; };
const plain = makeExecutableSchema({ typeDefs: [idempotentTypeDefs, FIELDS], resolvers: { Mutation: { order } } });
const schema = withIdempotency(plain, { store: new MemoryStore(), scope: () => 'shop' });
const source = 'mutation { order(idempotencyKey: "a") }';
const answers = [await graphql({ schema, source }), await graphql({ schema, source })];
console.log(JSON.stringify(answers.map(({ data }) => data?.['order'])));
`;

/** A page as a browser would open it: its address is the shop's, which adds the API key. */
const PAGE = `
const { SHOP, API_KEY } = process.env;
const real = globalThis.fetch;
globalThis.fetch = (url, init) =>
  real(new URL(String(url), SHOP), {
    ...init,
    headers: { ...init?.headers, authorization: 'Bearer ' + API_KEY },
  });
`;

const PAYMENTS = `
import './page.js';
import { buy as apollo } from './apollo.js';
import { payCart } from './checkout.js';
import { pay as payInvoices } from './pay-invoice.js';
import { buy as plain } from './plain.js';
import { pay } from './trusted-pay.js';
import { buy as urql } from './urql.js';

const euros = (amountMinor: number) => ({ amount: { amountMinor, currency: 'EUR' }, paymentMethod: 'pm_ok' });
if (process.argv[2] === 'ids') {
  const stock = await pay.run('createPayment', { input: euros(1001) }, { scope: 'cart:6:1' });
  const own = await pay.run('payInvoice', { input: euros(1002) }, { scope: 'invoice:1' });
  console.log(JSON.stringify([stock.kind, own.kind]));
} else {
  const cart = { id: 7, revision: 1, totalMinor: 1003, cardToken: 'pm_ok' };
  const own = await payInvoices.run('payInvoice', { input: euros(1004) }, { scope: 'invoice:2' });
  const others = [await apollo(1005, 'pm_ok', '8:1'), await urql(1006, 'pm_ok', '9:1'), await plain(1007, 'pm_ok', '10:1')];
  const statuses = others.map(({ data }) => data?.createPayment.payment?.status);
  console.log(JSON.stringify([await payCart(cart), await payCart(cart), own.kind, ...statuses]));
}
`;

let project: OutsideProject;

beforeAll(async () => {
  project = await makeOutsideProject();
}, 300_000);

afterAll(() => project?.remove());

describe('the package', () => {
  it('has no complaint of publint', async () => {
    const { buffer, byteOffset, byteLength } = project.tarball;
    const tarball = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
    const { messages } = await publint({ pack: { tarball }, strict: true });
    expect(messages).toEqual([]);
  });

  it('has types that are right wherever ESM is', async () => {
    const result = await checkPackage(createPackageFromTarballData(project.tarball));
    // The package is ESM alone: `require` and the resolution of Node.js 10 are not for it.
    const ours = (result.types ? result.problems : []).filter(
      (problem) => !('resolutionKind' in problem && /^node10|cjs$/.test(problem.resolutionKind)),
    );
    expect(result.types).not.toBe(false);
    expect(ours).toEqual([]);
  }, 60_000);
});

describe('a project outside', () => {
  let world: World;
  let server: TestServer;

  beforeAll(async () => {
    const snippets = await snippetsOf(GUIDE);
    await project.write(snippets);
    await project.write(await snippetsOf(WEBHOOKS));
    await project.write([
      ['package.json', JSON.stringify({ name: 'outside', private: true, type: 'module' })],
      ['tsconfig.json', JSON.stringify(TSCONFIG)],
      ['own-schema.ts', OWN_SCHEMA],
      ['page.ts', PAGE],
      ['payments.ts', PAYMENTS],
    ]);
    await generate(project.folder, await configIn(snippets.get('codegen.ts') ?? ''));
    world = await startWorld();
  }, 120_000);

  afterAll(() => world?.end(), 60_000);

  const page = (...args: readonly string[]) =>
    project.node(['out/payments.js', ...args], { SHOP: server.url, API_KEY: TEST_API_KEY });

  it('compiles the guides, and generates the documents', async () => {
    expect(await project.compile()).toEqual([]);
  }, 120_000);

  it('makes a schema of its own happen once', async () => {
    expect(await project.node(['out/own-schema.js'])).toEqual({ code: 0, output: '[1,1]\n' });
  });

  it('pays where only trusted documents run, its own and the stock ones', async () => {
    expect((await project.node(['out/trusted-documents.js'])).code).toBe(0);
    server = await world.server({
      TRUSTED_DOCUMENTS: 'required',
      TRUSTED_DOCUMENTS_FILE: join(project.folder, 'persisted-documents.json'),
    });
    const { output } = await page('ids');
    expect(JSON.parse(output)).toEqual(['settled', 'settled']);
    expect(await charged()).toEqual([1001, 1002]);
  }, 60_000);

  it('pays with texts, through Apollo Client, urql and plain requests, too', async () => {
    server = await world.server();
    const { output } = await page('texts');
    const paid = 'Paid: 10.03 EUR.';
    expect(JSON.parse(output)).toEqual([paid, paid, 'settled', ...Array(3).fill('CAPTURED')]);
    expect(await charged()).toEqual([1001, 1002, 1003, 1004, 1005, 1006, 1007]);
  }, 60_000);

  it('runs the job of the guide twice, and pays once', async () => {
    const { sql } = world;
    await sql`create table invoices (id int, version int, total int, mandate text, payment text)`;
    await sql`insert into invoices values (1, 1, 2001, 'pm_ok'), (2, 1, 2002, 'pm_ok')`;
    const env = {
      DATABASE_URL: world.database.url,
      PAY_URL: `${server.url}/graphql`,
      PAY_API_KEY: TEST_API_KEY,
    };
    for (const _ of [1, 2]) {
      expect(await project.node(['out/nightly-job.js'], env)).toMatchObject({ code: 0 });
      const open = await sql`select from invoices where payment is null`;
      expect(open).toHaveLength(0);
      await sql`update invoices set payment = null`;
    }
    expect((await charged()).slice(7)).toEqual([2001, 2002]);
  }, 60_000);

  it('passes the test of the guide', async () => {
    expect(await project.node(['--test', 'out/checkout.test.js'])).toMatchObject({ code: 0 });
  });

  const charged = async () =>
    (await world.simulator.executions()).map(({ amountMinor }) => amountMinor).sort();
});

/** Loads the guide's configuration as the command would. */
async function configIn(text: string): Promise<CodegenConfig> {
  const { code } = await transform(text, { loader: 'ts', format: 'esm' });
  await project.write([['codegen.mjs', code]]);
  const loaded = await import(/* @vite-ignore */ join(project.folder, 'codegen.mjs'));
  return loaded.default;
}
