import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type InProcess, startInProcess } from '../support/in-process.ts';
import { freshKey, PAY } from '../support/pay.ts';

let semel: InProcess;
let merchant: string;
/** The owner of the tables, and a login that may only serve. */
let owner: postgres.Sql;
let server: postgres.Sql;
const LOGIN = `server_${Math.random().toString(36).slice(2)}`;

beforeAll(async () => {
  semel = await startInProcess();
  merchant = await semel.merchant('ledger');
  owner = postgres(semel.url, { max: 1, onnotice: () => {} });
  await owner.unsafe(`create role ${LOGIN} login password 'serves' in role semel_app`);
  const url = new URL(semel.url);
  url.username = LOGIN;
  url.password = 'serves';
  server = postgres(url.href, { max: 1, onnotice: () => {} });
}, 60_000);

afterAll(async () => {
  await server.end();
  await owner.unsafe(`drop role ${LOGIN}`);
  await owner.end();
  await semel.close();
});

async function act(field: string, input: object): Promise<string> {
  const type = `${field[0]?.toUpperCase()}${field.slice(1)}Input`;
  const source = `mutation($key: IdempotencyKey!, $input: ${type}!) {
    ${field}(idempotencyKey: $key, input: $input) { payment { id } userErrors { code } } }`;
  const { data, errors } = await semel.ask<Record<string, { payment: { id: string } }>>(
    merchant,
    source,
    { key: freshKey(), input },
  );
  if (!data) throw new Error(JSON.stringify(errors));
  return data[field]?.payment.id as string;
}

const money = (amountMinor: number, currency: string) => ({ amountMinor, currency });

interface Ledger {
  readonly ledgerAccounts: readonly {
    account: string;
    currency: string;
    balance: number;
    decimal: string;
  }[];
  readonly ledgerHealth: {
    trialBalance: readonly { currency: string; difference: number; debits: number }[];
    entriesWithoutPostings: number;
    oldestInDoubt: string | null;
    outboxLag: number;
  };
}

async function ledger(at: string | null = null, of = merchant): Promise<Ledger> {
  const { data, errors } = await semel.ask<Ledger>(
    of,
    `query($at: DateTime) {
      ledgerAccounts(at: $at) { account currency balance decimal }
      ledgerHealth { trialBalance { currency difference debits credits } entriesWithoutPostings oldestInDoubt outboxLag } }`,
    { at },
  );
  if (!data) throw new Error(JSON.stringify(errors));
  return data;
}

test('authorisations and voids post nothing; charges, captures and refunds post what moved', async () => {
  const empty = await ledger();
  expect(empty.ledgerAccounts).toEqual([]);
  await act('voidPayment', {
    paymentId: await act('createPayment', {
      amount: money(900, 'EUR'),
      paymentMethod: 'pm_ok',
      captureMode: 'MANUAL',
    }),
  });
  const held = await act('createPayment', {
    amount: money(1_000, 'EUR'),
    paymentMethod: 'pm_ok',
    captureMode: 'MANUAL',
  });
  expect((await ledger()).ledgerAccounts).toEqual([]);
  await act('capturePayment', { paymentId: held, amount: money(400, 'EUR') });
  await act('createPayment', { amount: money(700, 'JPY'), paymentMethod: 'pm_ok' });
  const { now } = (await owner`select clock_timestamp() as now`)[0] as unknown as { now: Date };
  await act('refundPayment', { paymentId: held, amount: money(150, 'EUR') });
  const before = await ledger(now.toISOString());
  const after = await ledger();
  const of = ({ ledgerAccounts }: Ledger) =>
    Object.fromEntries(
      ledgerAccounts.map(({ account, currency, balance, decimal }) => [
        `${currency} ${account}`,
        `${balance} ${decimal}`,
      ]),
    );
  expect(of(before)).toMatchObject({
    'EUR PSP_CLEARING': '400 4.00',
    'EUR MERCHANT_PAYABLE': '-400 -4.00',
    'EUR PSP_FEES': '0 0.00',
    'EUR REFUNDS_IN_DOUBT': '0 0.00',
    'JPY PSP_CLEARING': '700 700',
  });
  expect(of(after)).toMatchObject({
    'EUR PSP_CLEARING': '250 2.50',
    'EUR MERCHANT_PAYABLE': '-250 -2.50',
  });
  expect(after.ledgerHealth).toMatchObject({
    trialBalance: [
      { currency: 'EUR', difference: 0, debits: 550 },
      { currency: 'JPY', difference: 0, debits: 700 },
    ],
    entriesWithoutPostings: 0,
    oldestInDoubt: null,
    outboxLag: 0,
  });
  expect((await ledger(null, await semel.merchant('another'))).ledgerAccounts).toEqual([]);
});

test('sums beyond 2^53 are exact', async () => {
  const of = await semel.merchant('large');
  const most = 99_999_999_999_999;
  const input = { amount: money(most, 'EUR'), paymentMethod: 'pm_ok' };
  const one = await semel.ask(of, PAY, { key: freshKey(), input });
  expect(one.errors).toBeUndefined();
  // As if it had been paid a hundred times: whoever owns the tables may add balanced legs.
  await owner.unsafe(`
    insert into postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency)
    select merchant_id, entry_id, leg + 2 * n, account, direction, amount_minor, currency
    from postings, generate_series(1, 99) n where merchant_id = '${of}'`);
  const { ledgerAccounts } = await ledger(null, of);
  const clearing = ledgerAccounts.find(({ account }) => account === 'PSP_CLEARING');
  expect(clearing).toMatchObject({ balance: '9999999999999900', decimal: '99999999999999.00' });
});

describe('the database refuses', () => {
  const legs = (one: string, other: string) => `
    insert into postings (merchant_id, entry_id, leg, account, direction, amount_minor, currency)
    select merchant_id, id, l.* from (select * from journal_entries
      where merchant_id = '${merchant}' and operation = 'AUTHORIZE' limit 1) e
    cross join (values (1, ${one}), (2, ${other})) l(leg, account, direction, amount_minor, currency)`;
  const debit = "'psp_clearing', 'DEBIT', 100, 'EUR'";
  const credit = "'merchant_payable', 'CREDIT', 100, 'EUR'";
  const cases: [string, string][] = [
    ['unbalanced legs', legs(debit, credit.replace('100', '99'))],
    ['both legs on one side', legs(debit, credit.replace('CREDIT', 'DEBIT'))],
    ['a negative amount', legs(debit.replace('100', '-100'), credit.replace('100', '-100'))],
    ['an amount of zero', legs(debit.replace('100', '0'), credit.replace('100', '0'))],
    [
      'an amount above the most',
      legs(debit.replace('100', '1e14::bigint'), credit.replace('100', '1e14::bigint')),
    ],
    [
      "another currency than the entry's",
      legs(debit.replace('EUR', 'USD'), credit.replace('EUR', 'USD')),
    ],
    ['legs in two currencies', legs(debit, credit.replace('EUR', 'USD'))],
    ['an account that is none', legs(debit.replace('psp_clearing', 'pocket'), credit)],
    ['a side that is none', legs(debit.replace('DEBIT', 'SIDEWAYS'), credit)],
  ];

  test.each(cases)('%s', async (_name, statement) => {
    await expect(owner.unsafe(statement)).rejects.toMatchObject({
      code: expect.stringMatching(/^(23|22)/),
    });
  });

  const changes: [string, string][] = [
    ['UPDATE of a posting', 'update postings set amount_minor = 1'],
    ['DELETE of postings', 'delete from postings'],
    ['TRUNCATE of postings', 'truncate postings'],
    ['UPDATE of evidence', "update psp_observations set state = 'X'"],
    ['DELETE of events', 'delete from outbox_events'],
    ['DELETE of entries', 'delete from journal_entries'],
    ['TRUNCATE of payments', 'truncate payments cascade'],
    ["UPDATE of an entry's amount", 'update journal_entries set amount_minor = 1'],
    ["UPDATE of an entry's request", `update journal_entries set request = '{"a":1}'`],
  ];

  test.each(changes)('%s, even by the owner', async (_name, statement) => {
    await owner.unsafe(
      `insert into psp_observations (merchant_id, id, entry_id, attempt, state)
       values ('${merchant}', gen_random_uuid(), gen_random_uuid(), 1, 'UNKNOWN')`,
    );
    await expect(owner.unsafe(statement)).rejects.toMatchObject({ code: '23001' });
  });

  test.each([
    ...changes,
    ["UPDATE of a payment's amount", 'update payments set amount_minor = 1'],
    ['DELETE of payments', 'delete from payments'],
    ['a new table', 'create table mine (id int)'],
    ['a dropped trigger', 'alter table postings disable trigger all'],
    [
      'a new key',
      `insert into api_keys (merchant_id, id, key_hash, prefix, name, scopes)
      values ('${'0'.repeat(8)}-0000-0000-0000-000000000000', gen_random_uuid(), '', '', '', '{}')`,
    ],
    ['a key revoked', 'update api_keys set revoked_at = now()'],
  ] as [string, string][])('%s by the role that serves', async (_name, statement) => {
    await expect(server.unsafe(statement)).rejects.toMatchObject({ code: '42501' });
  });

  test('captures beyond what is authorized, and a void beside a capture', async () => {
    const held = await act('createPayment', {
      amount: money(100, 'EUR'),
      paymentMethod: 'pm_ok',
      captureMode: 'MANUAL',
    });
    const id = Buffer.from(held, 'base64url').toString().split(':')[1];
    for (const change of [
      'capture_reserved_minor = 101',
      'refund_reserved_minor = 1',
      'capture_reserved_minor = 1, void_reserved = true',
      'captured_minor = -1',
    ]) {
      await expect(
        owner.unsafe(`update payments set ${change} where id = '${id}'`),
      ).rejects.toMatchObject({ code: '23514' });
    }
  });
});
