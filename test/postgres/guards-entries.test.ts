import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ENTRY_STATES, type Hold, MAX_AMOUNT_MINOR } from '../../src/payments/index.ts';
import type { PostgresJournal } from '../../src/postgres/index.ts';
import { type Books, DECLINED, holdOf, newPayment, openBooks, UNKNOWN } from './books.ts';

/** Postgres’ classes: 22 the data is impossible, 23 a constraint forbids it. */
const REFUSED = { code: expect.stringMatching(/^2[23]/) };

let books: Books;
let journal: PostgresJournal;
beforeAll(async () => {
  books = await openBooks();
  journal = books.journal();
});
afterAll(() => books.close());

const open = async (more = {}) => holdOf(await journal.open(newPayment(more)));

const update = ({ entry }: Hold, set: string) =>
  books.sql.unsafe(`update journal_entries set ${set} where id = '${entry.id}'`);

describe('an entry', () => {
  test.each([
    'merchant_id = gen_random_uuid()',
    'id = gen_random_uuid()',
    'payment_id = gen_random_uuid()',
    "idempotency_key = 'other'",
    "operation = 'REFUND'",
    'amount = 10.51, amount_minor = 1051',
    "currency = 'USD'",
    'amount = 1.05, exponent = 3',
    "fingerprint = '\\x00'",
    'fingerprint_version = 2',
    "psp = 'another'",
    'psp_idempotency_key = gen_random_uuid()',
    "created_at = created_at - interval '1 day'",
    'attempt = attempt - 1',
    "state = 'NOWHERE'",
    "outcome_source = 'RUMOUR'",
    'next_check_at = null',
    'settled_at = clock_timestamp()',
    "state = 'SUCCEEDED'",
  ])('never changes by %s', async (set) => {
    await expect(update(await open(), set)).rejects.toMatchObject(REFUSED);
  });

  test('writes the PSP’s reference once', async () => {
    const hold = await open();
    await update(hold, "psp_reference = 'ch_a'");
    await update(hold, "psp_reference = 'ch_a'");
    await expect(update(hold, "psp_reference = 'ch_b'")).rejects.toMatchObject(REFUSED);
    await expect(update(hold, 'psp_reference = null')).rejects.toMatchObject(REFUSED);
  });

  const ways: Record<string, readonly string[]> = {
    SENDING: ['SENDING', 'SUCCEEDED', 'DECLINED', 'FAILED', 'UNKNOWN', 'PENDING'],
    UNKNOWN: ['UNKNOWN', 'SUCCEEDED', 'DECLINED', 'FAILED', 'IN_REVIEW'],
    PENDING: ['PENDING', 'SUCCEEDED', 'DECLINED', 'FAILED', 'IN_REVIEW'],
    IN_REVIEW: ['IN_REVIEW'],
    SUCCEEDED: [],
    DECLINED: [],
    FAILED: [],
  };
  const set = (state: string, attempt = 'attempt') => {
    const isSettled = ['SUCCEEDED', 'DECLINED', 'FAILED'].includes(state);
    return `state = '${state}', attempt = ${attempt}, next_check_at = clock_timestamp(),
      settled_at = ${isSettled ? 'clock_timestamp()' : 'null'}`;
  };
  const inState = async (state: string) => {
    const hold = await open();
    if (state === 'IN_REVIEW') await update(hold, set('UNKNOWN'));
    if (state !== 'SENDING') await update(hold, set(state));
    return hold;
  };

  test.each(Object.entries(ways))('in %s goes only to %j', async (from, allowed) => {
    for (const to of ENTRY_STATES) {
      const hold = await inState(from);
      const moved = await update(hold, set(to, 'attempt + 1')).then(
        () => true,
        (error: { code: string }) => {
          expect(error).toMatchObject(REFUSED);
          return false;
        },
      );
      expect(`${from} → ${to}: ${moved}`).toBe(`${from} → ${to}: ${allowed.includes(to)}`);
    }
  });

  test('that was not sent goes to SENDING again, as a new attempt only', async () => {
    const hold = await open();
    await update(hold, `${set('FAILED')}, outcome_source = 'NOT_SENT'`);
    const again = `${set('SENDING')}, outcome_source = null`;
    await expect(update(hold, again)).rejects.toMatchObject(REFUSED);
    await update(hold, `${set('SENDING', 'attempt + 1')}, outcome_source = null`);
  });

  test('in review ends only by an operator', async () => {
    const hold = await inState('IN_REVIEW');
    await expect(
      update(hold, `${set('SUCCEEDED')}, outcome_source = 'INQUIRY'`),
    ).rejects.toMatchObject(REFUSED);
    await update(hold, `${set('SUCCEEDED')}, outcome_source = 'OPERATOR'`);
  });
});

describe('a new entry', () => {
  const insert = async (columns: Readonly<Record<string, unknown>>) => {
    const { entry, payment } = await open();
    await journal.settle(await open(), DECLINED);
    const [row] = await books.sql`select * from journal_entries where id = ${entry.id}`;
    const other = { id: randomUUID(), idempotency_key: `other-${entry.id}` };
    const fresh = {
      psp_idempotency_key: randomUUID(),
      operation: 'REFUND',
      payment_id: payment.id,
    };
    return books.sql`insert into journal_entries ${books.sql({ ...row, ...other, ...fresh, ...columns })}`;
  };

  test('is accepted as it should be', async () => {
    await insert({});
    await insert({ currency: 'JPY', exponent: 0, amount: '1050' });
    await insert({ currency: 'CLF', exponent: 4, amount: '0.1050' });
  });

  test.each<[string, Record<string, unknown>]>([
    ['an amount that is not its minor units', { amount: '10.51' }],
    ['minor units that are not its amount', { amount_minor: 1_051 }],
    ['an exponent that does not fit', { exponent: 3 }],
    ['an exponent below 0', { exponent: -1 }],
    ['an exponent above 4', { exponent: 5, amount: '0.0105' }],
    ['nothing to pay', { amount: '0', amount_minor: 0 }],
    ['a negative amount', { amount: '-10.5', amount_minor: -1_050 }],
    ['more than the column holds', { amount: '100000000000000' }],
    ['minor units beyond a bigint', { amount_minor: '9223372036854775808' }],
    ['an empty key', { idempotency_key: '' }],
    ['a key with a blank', { idempotency_key: 'a b' }],
    ['a key with a line break at its end', { idempotency_key: 'a\n' }],
    ['a key that is not ASCII', { idempotency_key: 'schlüssel' }],
    ['a key of 256 characters', { idempotency_key: 'k'.repeat(256) }],
    ['a currency of four letters', { currency: 'EURO' }],
    ['an operation that there is not', { operation: 'GIFT' }],
    ['a payment that there is not', { payment_id: randomUUID() }],
    ['the payment of another merchant', { merchant_id: randomUUID() }],
    ['a second live charge of its payment', { operation: 'CHARGE' }],
    ['an end without its time', { state: 'FAILED' }],
    ['doubt that nobody will look into', { state: 'UNKNOWN', next_check_at: null }],
  ])('with %s is refused', async (_, columns) => {
    await expect(insert(columns)).rejects.toMatchObject(REFUSED);
  });

  test('under a key that is there already is refused', async () => {
    const { entry } = await open();
    const [row] = await books.sql`select * from journal_entries where id = ${entry.id}`;
    const again = { ...row, id: randomUUID(), operation: 'REFUND' };
    await expect(
      books.sql`insert into journal_entries ${books.sql({ ...again, psp_idempotency_key: randomUUID() })}`,
    ).rejects.toMatchObject({ constraint_name: 'journal_entries_intent' });
    await expect(
      books.sql`insert into journal_entries ${books.sql({ ...again, idempotency_key: randomUUID() })}`,
    ).rejects.toMatchObject({ constraint_name: 'journal_entries_psp_key' });
  });
});

describe('a payment', () => {
  test.each([
    'amount_minor = 0',
    'amount_minor = -1',
    `amount_minor = ${MAX_AMOUNT_MINOR + 1}`,
    "status = 'PAID'",
    'authorized_minor = 1051',
    'authorized_minor = -1',
    'authorized_minor = 1050, captured_minor = 1051',
    'authorized_minor = 1050, captured_minor = 1000, capture_reserved_minor = 51',
    'authorized_minor = 1050, capture_reserved_minor = -1',
    'authorized_minor = 1050, captured_minor = 1050, refunded_minor = 1051',
    'authorized_minor = 1050, captured_minor = 50, refunded_minor = 40, refund_reserved_minor = 11',
    'authorized_minor = 1050, captured_minor = 50, refund_reserved_minor = -1',
  ])('never has %s', async (set) => {
    const { payment } = await open();
    await expect(
      books.sql.unsafe(`update payments set ${set} where id = '${payment.id}'`),
    ).rejects.toMatchObject({ code: '23514' });
  });

  test('has its transaction id alone while it lives', async () => {
    const merchantId = randomUUID();
    const declined = await open({ merchantId, transactionId: 'order-1' });
    await journal.settle(declined, DECLINED);
    const unknown = await open({ merchantId, transactionId: 'order-1' });
    await journal.settle(unknown, UNKNOWN);
    await expect(
      books.sql`update payments set status = 'PROCESSING' where id = ${declined.payment.id}`,
    ).rejects.toMatchObject({ constraint_name: 'payments_live_transaction_id' });
  });
});

test('every primary key and UNIQUE begins with the merchant, but the merchants’ own and a PSP’s events, which are nobody’s until read', async () => {
  const rows = await books.sql`
    select c.relname as name, a.attname as first from pg_index i
    join pg_class c on c.oid = i.indexrelid
    join pg_class t on t.oid = i.indrelid
    join pg_namespace n on n.oid = t.relnamespace
    join pg_attribute a on a.attrelid = t.oid and a.attnum = i.indkey[0]
    where i.indisunique and n.nspname = 'public' and t.relname not in ('merchants', 'inbound_webhooks')`;
  expect(rows.length).toBeGreaterThan(5);
  expect(rows.filter(({ first }) => first !== 'merchant_id')).toEqual([]);
});
