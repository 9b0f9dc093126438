import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  type Conclusion,
  type Hold,
  type NewPayment,
  reverseLate,
  sendTo,
} from '../../src/payments/index.ts';
import { PostgresReversals } from '../../src/postgres/index.ts';
import { fakePsp, PAID } from '../payments/fakes.ts';
import {
  type Books,
  DECLINED,
  holdOf,
  NOT_SENT,
  newPayment,
  openBooks,
  REJECTED,
  succeeded,
  TIMES,
} from './books.ts';

let books: Books;
beforeAll(async () => {
  books = await openBooks();
});
afterAll(() => books.close());

const reversals = () => new PostgresReversals(books.database(), TIMES);

/** An entry that was refused by one owner while an earlier one still had the approval to tell. */
async function refusedThenPaid(
  told: Conclusion,
  more: Partial<NewPayment> = {},
  reference = `ch_${Math.random()}`,
): Promise<{ readonly hold: Hold; readonly reference: string; readonly psp: string }> {
  const { psp = `fake-${Math.random()}` } = more;
  let fenced = 0;
  const journal = books.journal({
    onFenced: () => {
      fenced += 1;
    },
  });
  const hold = holdOf(await journal.open(newPayment({ ...more, psp })));
  await books.makeDue();
  const [doubt] = await journal.takeOver(1, psp);
  if (doubt === undefined) throw new Error('nothing was due');
  expect((await journal.settle(doubt, told)).moved).toBe(true);
  expect((await journal.settle(hold, succeeded(reference))).moved).toBe(false);
  expect(fenced).toBe(1);
  return { hold, reference, psp };
}

const entriesOf = ({ entry }: Hold) => books.sql`
  select operation, state, idempotency_key, request from journal_entries
  where payment_id = ${entry.paymentId} order by created_at`;
const accountsOf = async ({ entry }: Hold) => {
  const rows = await books.sql`
    select account, sum(case direction when 'DEBIT' then p.amount_minor else -p.amount_minor end)::int as sum
    from postings p join journal_entries e on e.merchant_id = p.merchant_id and e.id = p.entry_id
    where e.payment_id = ${entry.paymentId} group by account order by account`;
  return Object.fromEntries(rows.map((row) => [row['account'], row['sum']]));
};

test.each([
  ['declined', DECLINED],
  ['failed', REJECTED],
])(
  'an approval that comes after the entry was %s is booked once, by whoever looks',
  async (_, told) => {
    const { hold, reference, psp } = await refusedThenPaid(told);
    const opened = await Promise.all(Array.from({ length: 8 }, () => reversals().open(10, psp)));
    expect(opened.flat()).toMatchObject([
      { entry: { operation: 'REVERSE', state: 'SENDING', amountMinor: 1_050, attempt: 1 } },
    ]);
    expect(await reversals().open(10, psp)).toEqual([]);
    expect(await entriesOf(hold)).toMatchObject([
      { operation: 'CHARGE', state: told.state },
      {
        operation: 'REVERSE',
        idempotency_key: `reverse ${reference}`,
        request: { operation: 'CHARGE', chargeReference: reference },
      },
    ]);
    expect(await accountsOf(hold)).toEqual({ psp_clearing: 1_050, refunds_in_doubt: -1_050 });
  },
);

test('is given back under one PSP key, whatever the order of evidence and refusal', async () => {
  const { hold, reference, psp } = await refusedThenPaid(DECLINED);
  const orders: unknown[] = [];
  const refunding = {
    ...fakePsp({}),
    name: psp,
    refund: async (order: unknown) => {
      orders.push(order);
      return { ...PAID, pspReference: `re_${reference}` };
    },
  };
  const late: string[] = [];
  const deps = {
    journal: books.journal(),
    reversals: reversals(),
    psp: refunding,
    onLate: ({ idempotencyKey }: { idempotencyKey: string }) => late.push(idempotencyKey),
  };
  expect(await reverseLate(deps, 10)).toBe(1);
  expect(await reverseLate(deps, 10)).toBe(0);
  expect(orders).toMatchObject([{ chargeReference: reference, amountMinor: 1_050 }]);
  expect(late).toEqual([`reverse ${reference}`]);
  expect(await entriesOf(hold)).toMatchObject([{ state: 'DECLINED' }, { state: 'SUCCEEDED' }]);
  expect(await accountsOf(hold)).toEqual({ psp_clearing: 0, refunds_in_doubt: 0 });
});

test('a reversal that died after its T1, or was not sent, is ended by recovery under the same key', async () => {
  const { hold, psp } = await refusedThenPaid(DECLINED);
  const [sent] = await reversals().open(10, psp);
  await books.makeDue();
  const [doubt] = await books.journal().takeOver(10, psp);
  expect(doubt?.entry).toMatchObject({
    id: sent?.entry.id,
    operation: 'REVERSE',
    state: 'UNKNOWN',
  });
  expect(doubt?.entry.pspIdempotencyKey).toBe(sent?.entry.pspIdempotencyKey);
  expect(await accountsOf(hold)).toEqual({ psp_clearing: 1_050, refunds_in_doubt: -1_050 });
  if (doubt === undefined) return;
  await books.journal().settle(doubt, DECLINED);
  // What the PSP does not give back is owed to the merchant, and the log has said so.
  expect(await accountsOf(hold)).toEqual({
    merchant_payable: -1_050,
    psp_clearing: 1_050,
    refunds_in_doubt: 0,
  });
});

test('an authorisation is only let go: nothing is posted', async () => {
  const { hold, reference, psp } = await refusedThenPaid(DECLINED, { operation: 'AUTHORIZE' });
  const [opened] = await reversals().open(10, psp);
  if (opened === undefined) throw new Error('nothing was opened');
  const voided: string[] = [];
  const voiding = {
    ...fakePsp({}),
    void: async ({ chargeReference }: { chargeReference: string }) => {
      voided.push(chargeReference);
      return PAID;
    },
  };
  await sendTo(voiding, opened);
  expect(voided).toEqual([reference]);
  expect(await accountsOf(hold)).toEqual({});
});

test('what is booked under another payment, or was never sent, is not given back', async () => {
  const journal = books.journal();
  const merchantId = newPayment().merchantId;
  const psp = `fake-${Math.random()}`;
  const other = holdOf(await journal.open(newPayment({ merchantId, psp })));
  await journal.settle(other, succeeded('ch_shared'));
  await refusedThenPaid(DECLINED, { merchantId, psp }, 'ch_shared');
  await refusedThenPaid(NOT_SENT, { psp });
  expect(await reversals().open(10, psp)).toEqual([]);
});
