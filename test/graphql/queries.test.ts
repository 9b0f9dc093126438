import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InProcess, startInProcess } from '../support/in-process.ts';
import { freshKey, PAY } from '../support/pay.ts';

let semel: InProcess;
let merchant: string;

beforeAll(async () => {
  semel = await startInProcess();
  merchant = await semel.merchant('queries');
}, 60_000);

afterAll(() => semel.close());

interface Paid {
  readonly createPayment: { readonly payment: { readonly id: string } };
}

async function pay(more: object = {}, of = merchant): Promise<string> {
  const input = {
    amount: { amountMinor: 1_050, currency: 'EUR' },
    paymentMethod: 'pm_ok',
    ...more,
  };
  const { data, errors } = await semel.ask<Paid>(of, PAY, { key: freshKey(), input });
  if (!data) throw new Error(JSON.stringify(errors));
  return data.createPayment.payment.id;
}

const REFUND = `mutation($key: IdempotencyKey!, $input: RefundPaymentInput!) {
  refundPayment(idempotencyKey: $key, input: $input) { userErrors { code } payment { id } } }`;
const refund = (paymentId: string, amountMinor: number) =>
  semel.ask(merchant, REFUND, {
    key: freshKey(),
    input: { paymentId, amount: { amountMinor, currency: 'EUR' } },
  });

interface Page {
  readonly payments: {
    readonly nodes: readonly { readonly id: string }[];
    readonly edges: readonly { readonly cursor: string }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

const PAGE = `query($filter: PaymentFilter, $sort: PaymentSort! = CREATED_AT_DESC, $after: String, $first: Int) {
  payments(filter: $filter, sort: $sort, after: $after, first: $first) {
    nodes { id } edges { cursor } pageInfo { hasNextPage endCursor } } }`;

async function page(variables: object, of = merchant): Promise<Page['payments']> {
  const { data, errors } = await semel.ask<Page>(of, PAGE, variables);
  if (!data) throw new Error(JSON.stringify(errors));
  return data.payments;
}
const ids = ({ nodes }: Page['payments']) => nodes.map(({ id }) => id);

describe('payments', () => {
  test('each member of the filter narrows; they go together', async () => {
    const of = await semel.merchant('filters');
    const euro = await pay({ transactionId: 'order-1', metadata: { shop: 'a', n: 1 } }, of);
    const yen = await pay({ amount: { amountMinor: 500, currency: 'JPY' } }, of);
    const held = await pay({ captureMode: 'MANUAL', metadata: { shop: 'b' } }, of);
    const found = async (filter: object) => ids(await page({ filter }, of)).sort();
    const cases: [object, string[]][] = [
      [{ status: ['AUTHORIZED'] }, [held]],
      [{ status: ['AUTHORIZED', 'CAPTURED'] }, [euro, yen, held]],
      [{ status: [] }, []],
      [{ currency: 'jpy' }, [yen]],
      [{ amountMin: 501 }, [euro, held]],
      [{ amountMax: 500 }, [yen]],
      [{ transactionId: 'order-1' }, [euro]],
      [{ metadata: { shop: 'a' } }, [euro]],
      [{ metadata: { shop: 'b' }, status: ['CAPTURED'] }, []],
      [{ createdAfter: '2000-01-01T00:00:00Z' }, [euro, yen, held]],
      [{ createdBefore: '2000-01-01T00:00:00+01:00' }, []],
      [{ status: null, currency: null }, [euro, yen, held]],
    ];
    for (const [filter, expected] of cases) {
      expect(await found(filter), JSON.stringify(filter)).toEqual(expected.sort());
    }
    expect(ids(await page({ sort: 'CREATED_AT_ASC' }, of))).toEqual([euro, yen, held]);
    expect(ids(await page({}, of))).toEqual([held, yen, euro]);
  });

  test.each([
    '2026-11-29',
    'yesterday',
    '2026-13-01T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-11-30T24:00:00Z',
    '0000-01-01T00:00:00Z',
    '0001-01-01T00:00:00+14:00',
    '9999-12-31T23:59:59-12:00',
  ])('a moment that is none is refused: %s', async (createdAfter) => {
    const { errors } = await semel.ask(merchant, PAGE, { filter: { createdAfter } });
    expect(errors).toHaveLength(1);
    expect(errors?.[0]?.message).toContain('RFC 3339');
  });

  test.each(['CREATED_AT_DESC', 'CREATED_AT_ASC'])(
    'pages stay right while payments arrive: %s',
    async (sort) => {
      const of = await semel.merchant(`pages ${sort}`);
      const before: string[] = [];
      for (let made = 0; made < 25; made += 1) before.push(await pay({}, of));
      const seen: string[] = [];
      let after: string | null = null;
      do {
        const one: Page['payments'] = await page({ sort, first: 4, after }, of);
        seen.push(...ids(one));
        after = one.pageInfo.hasNextPage ? one.pageInfo.endCursor : null;
        if (seen.length < 20) await pay({}, of);
      } while (after !== null);
      expect(new Set(seen).size).toBe(seen.length);
      const old = seen.filter((id) => before.includes(id));
      expect(old).toEqual(sort === 'CREATED_AT_ASC' ? before : [...before].reverse());
    },
    30_000,
  );

  test.each([{ first: 0 }, { first: 101 }, { after: 'nonsense' }])(
    '%j is refused',
    async (variables) => {
      const { errors } = await semel.ask(merchant, PAGE, variables);
      expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT');
    },
  );
});

describe('node and nodes', () => {
  const NODES = 'query($ids: [ID!]!) { nodes(ids: $ids) { __typename id } }';

  test('find what the merchant has, in order, and nothing of another merchant', async () => {
    const payment = await pay();
    const other = await pay({}, await semel.merchant('somebody else'));
    const { data } = await semel.ask<{
      payment: { journalEntries: { nodes: { id: string }[] } };
    }>(
      merchant,
      'query($id: ID!) { payment(by: { id: $id }) { journalEntries { nodes { id } } } }',
      { id: payment },
    );
    const entry = data?.payment.journalEntries.nodes[0]?.id as string;
    const ids = [entry, other, payment, 'nonsense', payment];
    const found = await semel.ask(merchant, NODES, { ids });
    expect(found.data).toEqual({
      nodes: [
        { __typename: 'JournalEntry', id: entry },
        null,
        { __typename: 'Payment', id: payment },
        null,
        { __typename: 'Payment', id: payment },
      ],
    });
    const one = await semel.ask(merchant, 'query($id: ID!) { node(id: $id) { id } }', {
      id: entry,
    });
    expect(one.data).toEqual({ node: { id: entry } });
  });

  test('a hundred objects are one statement', async () => {
    const made = await Promise.all(Array.from({ length: 100 }, () => pay()));
    const before = semel.database.statements;
    const { data } = await semel.ask<{ nodes: unknown[] }>(merchant, NODES, { ids: made });
    expect(data?.nodes).toHaveLength(100);
    expect(semel.database.statements - before).toBe(1);
    const { errors } = await semel.ask(merchant, NODES, { ids: [...made, made[0]] });
    expect(errors?.[0]?.extensions['code']).toBe('BAD_USER_INPUT');
  });
});

describe('how many statements', () => {
  test('createPayment is T1 and T2', async () => {
    const before = semel.database.statements;
    await pay();
    expect(semel.database.statements - before).toBe(2);
  });

  test('refundPayment is T1 and T2', async () => {
    const payment = await pay();
    const before = semel.database.statements;
    await refund(payment, 50);
    expect(semel.database.statements - before).toBe(2);
  });

  test('fifty payments with operations, entries, postings and their payments are four', async () => {
    const made = await Promise.all(Array.from({ length: 50 }, () => pay()));
    await Promise.all(made.map((id) => refund(id, 50)));
    const before = semel.database.statements;
    const { data, errors } = await semel.ask<{
      payments: { nodes: { journalEntries: { nodes: { postings: unknown[] }[] } }[] };
    }>(
      merchant,
      `{ payments(first: 50) { nodes { id
        operations(first: 5) { nodes { kind state amount { decimal } } }
        journalEntries(first: 5) { nodes { operation postings { account direction amount { amountMinor } }
          payment { id } } } } } }`,
    );
    expect(errors).toBeUndefined();
    // The page, the entries, their postings, and the payments of the entries.
    expect(semel.database.statements - before).toBe(4);
    for (const { journalEntries } of data?.payments.nodes ?? []) {
      expect(journalEntries.nodes.map(({ postings }) => postings.length)).toEqual([2, 2]);
    }
  });

  test('fifty events with payments, entries and postings are five', async () => {
    const of = await semel.merchant('events');
    await Promise.all(Array.from({ length: 50 }, () => pay({}, of)));
    const before = semel.database.statements;
    const { data, errors } = await semel.ask<{
      paymentEvents: { nodes: { payment: unknown; entry: { postings: unknown[] } }[] };
    }>(
      of,
      `{ paymentEvents(first: 50) { nodes { id type cursor payment { id status }
        entry { operation postings { account } } } pageInfo { hasNextPage endCursor } } }`,
    );
    expect(errors).toBeUndefined();
    // The numbering, the page, the payments, the entries and their postings.
    expect(semel.database.statements - before).toBe(5);
    expect(data?.paymentEvents.nodes).toHaveLength(50);
    expect(data?.paymentEvents.nodes.every(({ entry }) => entry.postings.length === 2)).toBe(true);
  });

  test("a payment's operations are paged", async () => {
    const payment = await pay();
    for (let times = 0; times < 4; times += 1) await refund(payment, 10);
    const query = `query($id: ID!, $after: String) { payment(by: { id: $id }) {
      operations(first: 3, after: $after) { nodes { kind } pageInfo { hasNextPage endCursor } } } }`;
    interface Operations {
      payment: {
        operations: {
          nodes: { kind: string }[];
          pageInfo: { hasNextPage: boolean; endCursor: string };
        };
      };
    }
    const first = await semel.ask<Operations>(merchant, query, { id: payment });
    const { nodes, pageInfo } = (first.data as Operations).payment.operations;
    const second = await semel.ask<Operations>(merchant, query, {
      id: payment,
      after: pageInfo.endCursor,
    });
    const rest = (second.data as Operations).payment.operations;
    expect([...nodes, ...rest.nodes].map(({ kind }) => kind)).toEqual([
      'CHARGE',
      'REFUND',
      'REFUND',
      'REFUND',
      'REFUND',
    ]);
    expect(pageInfo.hasNextPage).toBe(true);
    expect(rest.pageInfo.hasNextPage).toBe(false);
  });
});
