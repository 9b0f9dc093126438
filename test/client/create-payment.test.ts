import { describe, expect, it } from 'vitest';
import { createPayment } from '../../src/client/index.ts';
import { onFakeTime } from './clock.ts';
import { CART, euros, shop } from './shop.ts';

function answered(
  payment: object | null,
  userErrors: readonly object[] = [],
  outcome = 'EXECUTED',
) {
  return createPayment.read({ createPayment: { payment, userErrors, idempotency: { outcome } } });
}

const message = 'Said so.';

describe('what createPayment answers', () => {
  it.each(['AUTHORIZED', 'CAPTURED', 'PARTIALLY_REFUNDED', 'REFUNDED', 'VOIDED', 'EXPIRED'])(
    'a payment that is %s was made',
    (status) => {
      expect(answered({ status })).toMatchObject({ is: 'settled', replayed: false });
      expect(answered({ status }, [], 'JOINED')).toMatchObject({ is: 'settled', replayed: true });
    },
  );

  it.each(['PROCESSING', 'REQUIRES_ACTION', 'UNKNOWN', 'IN_REVIEW', 'A_NEWER_ONE'])(
    'a payment that is %s is under way',
    (status) => {
      expect(answered({ status, isTerminal: false })).toMatchObject({ is: 'processing' });
    },
  );

  it.each([
    ['PaymentDeclined', 'declined'],
    ['PaymentFailed', 'declined'],
    ['OutcomeUnknown', 'processing'],
    ['PaymentInReview', 'processing'],
    ['PspUnavailable', 'notSent'],
    ['TransactionIdConflict', 'rejected'],
  ])('%s means %s', (__typename, is) => {
    const problem = { __typename, code: 'CODE', message };
    expect(answered(null, [problem])).toMatchObject({ is, problem });
  });

  it('a newer problem of a payment under way is under way', () => {
    const problem = { __typename: 'Newer', code: 'NEWER', message };
    const payment = { status: 'NEWER', isTerminal: false };
    expect(answered(payment, [problem])).toMatchObject({ is: 'processing', problem });
  });

  it.each([
    ['problem', null, [{ __typename: 'Newer', code: 'NEWER', message }], 'NEWER'],
    ['status', { status: 'NEWER', isTerminal: true }, [], 'UNREADABLE_ANSWER'],
  ])('a newer %s ends as a rejection that keeps the key', async (_what, payment, errors, code) => {
    const idempotency = { outcome: 'EXECUTED' };
    const data = { createPayment: { payment, userErrors: errors, idempotency } };
    const fetch = async () => new Response(JSON.stringify({ data }));
    const { pay } = shop([], { more: { fetch } });
    const end = await pay.run('createPayment', euros(500), CART);
    expect(end).toMatchObject({ kind: 'rejected', problem: { code } });
    expect(await pay.unsettled()).toHaveLength(1);
    expect((await pay.run('createPayment', euros(900), CART)).kind).toBe('blocked');
  });
});

describe('what a look-up finds', () => {
  const found = (record: object | null) => createPayment.lookup?.read({ idempotencyKey: record });

  it.each([
    ['SUCCEEDED', 'RETRY_SAME_KEY', 'settled'],
    ['DECLINED', 'NEW_KEY', 'declined'],
    ['FAILED', 'NEW_KEY', 'declined'],
    ['FAILED', 'RETRY_SAME_KEY', 'notSent'],
    ['SENDING', 'WAIT', 'processing'],
    ['UNKNOWN', 'WAIT', 'processing'],
    ['PENDING', 'WAIT', 'processing'],
    ['IN_REVIEW', 'CONTACT_SUPPORT', 'processing'],
    ['A_NEWER_ONE', 'A_NEWER_ONE', 'processing'],
  ])('%s and %s: %s', (state, next, is) => {
    expect(found({ state, next, payment: {} })).toMatchObject({ is });
  });

  it('nothing', () => {
    expect(found(null)).toEqual({ is: 'absent' });
  });

  it('of a payment that is not decided yet is followed', async () => {
    const { pay, open, server } = shop([
      ...Array(5).fill('dropRequest'),
      'pending',
      'pending',
      'pending',
    ]);
    const end = await onFakeTime(async () => {
      await pay.run('createPayment', euros(500), CART);
      await pay.run('createPayment', euros(500), CART);
      const resumed = await open().resume('createPayment', CART);
      if (resumed?.kind !== 'processing') throw new Error(resumed?.kind);
      return resumed.follow();
    });
    expect(end).toMatchObject({ kind: 'settled', replayed: true });
    expect(server.charges).toHaveLength(1);
  });
});
