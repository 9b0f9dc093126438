import { afterAll, beforeAll, expect, it } from 'vitest';
import { CreatePaymentDocument } from '../../src/client/documents.ts';
import { createPayClient, createPayment, idempotent } from '../../src/client/index.ts';
import { startWorld, type World } from '../e2e/world.ts';
import { ask, codeOf } from '../support/pay.ts';
import type { TestServer } from '../support/with-server.ts';
import { type Relay, startRelay } from './relay.ts';

const MANIFEST = 'src/generated/client/persisted-documents.json';

let world: World;
let server: TestServer;
let relay: Relay;

beforeAll(async () => {
  world = await startWorld();
  server = await world.server({
    TRUSTED_DOCUMENTS: 'required',
    TRUSTED_DOCUMENTS_FILE: MANIFEST,
  });
  relay = await startRelay(server.url);
}, 120_000);

afterAll(async () => {
  await relay?.close();
  await world?.end();
}, 60_000);

const order = (amountMinor: number) => ({
  input: { amount: { amountMinor, currency: 'EUR' }, paymentMethod: 'pm_ok' },
});

/** A client that notes the bodies it sends. */
function client<Ops extends Parameters<typeof createPayClient>[0]['operations']>(
  operations: Ops,
  more: { readonly trustedDocuments?: boolean; readonly attempts?: number } = {},
) {
  const { trustedDocuments = true, attempts = 5 } = more;
  const sent: Record<string, unknown>[] = [];
  const pay = createPayClient({
    endpoint: `${relay.url}/graphql`,
    headers: { authorization: `Bearer ${server.apiKey}` },
    fetch: (url, init) => {
      sent.push(JSON.parse(init.body));
      return fetch(url, init);
    },
    operations,
    trustedDocuments,
    retry: { attempts, baseMs: 20 },
  });
  return { pay, sent };
}

it('pays and looks up by ids where only the manifest is trusted', async () => {
  const { pay, sent } = client({ createPayment }, { attempts: 1 });
  relay.script('dropAnswer');
  const scope = 'cart:1:1';
  const lost = await pay.run('createPayment', order(100), { scope });
  expect(lost.kind).toBe('unknown');
  const found = await pay.resume('createPayment', { scope });
  expect(found).toMatchObject({ kind: 'settled', value: { status: 'CAPTURED' } });
  expect(sent.map(({ operationName }) => operationName)).toEqual(['CreatePayment', 'PaymentByKey']);
  for (const body of sent) {
    expect(body['documentId']).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(body).not.toHaveProperty('query');
  }
  expect(await world.simulator.executions()).toHaveLength(1);
});

it('pays with the ids that code generation gives to documents', async () => {
  const own = idempotent({
    mutation: CreatePaymentDocument,
    key: 'idempotencyKey',
    read: ({ createPayment: { payment } }) =>
      payment
        ? { is: 'settled', value: payment, replayed: false }
        : { is: 'declined', problem: { code: 'NO', message: 'no' } },
  });
  const { pay } = client({ own });
  const outcome = await pay.run('own', order(200), { scope: 'cart:2:1' });
  expect(outcome).toMatchObject({ kind: 'settled', value: { status: 'CAPTURED' } });
});

it('sends texts where ids are not asked for; those of the manifest are known', async () => {
  const { pay, sent } = client({ createPayment }, { trustedDocuments: false });
  const outcome = await pay.run('createPayment', order(300), { scope: 'cart:3:1' });
  expect(outcome.kind).toBe('settled');
  expect(sent[0]?.['query']).toContain('mutation CreatePayment');
  expect(sent[0]).not.toHaveProperty('documentId');
});

it('is refused with another text, or another id', async () => {
  const other = await ask(server, '{ __typename }');
  expect(other.status).toBe(400);
  expect(codeOf(other)).toBeDefined();
  const { id: _, ...rest } = createPayment;
  const texts = client(
    { createPayment: { ...rest, text: `${rest.text} ` } },
    { trustedDocuments: false },
  );
  const ids = client({ createPayment: { ...createPayment, id: 'sha256:other' } });
  for (const { pay } of [texts, ids]) {
    const outcome = await pay.run('createPayment', order(400), { scope: 'cart:4:1' });
    expect(outcome.kind).toBe('rejected');
  }
  const executions = await world.simulator.executions();
  expect(executions.filter(({ amountMinor }) => amountMinor === 400)).toEqual([]);
});

it('is not made of operations without ids', () => {
  const { id: _, ...withoutId } = createPayment;
  expect(() => client({ withoutId })).toThrow('CreatePayment has no id.');
  const { lookup } = createPayment;
  const { id: __, ...lookupWithoutId } = lookup ?? createPayment;
  const operation = { ...createPayment, lookup: lookupWithoutId };
  expect(() => client({ operation })).toThrow('CreatePayment has no id.');
});
