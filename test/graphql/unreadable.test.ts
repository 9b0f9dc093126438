import { afterAll, beforeAll, expect, test } from 'vitest';
import { JournalUnavailable } from '../../src/payments/index.ts';
import { type InProcess, startInProcess } from '../support/in-process.ts';
import { freshKey, PAY } from '../support/pay.ts';

let world: InProcess;
let merchant: string;
beforeAll(async () => {
  world = await startInProcess();
  merchant = await world.merchant('unreadable');
}, 60_000);
afterAll(() => world.close());

interface Answer {
  readonly createPayment: {
    readonly payment: { readonly status: string } | null;
    readonly userErrors: readonly { readonly code: string }[];
    readonly idempotency: { readonly outcome: string };
  };
}

const pay = (key: string, paymentMethod: string) => {
  const input = { amount: { amountMinor: 1_050, currency: 'EUR' }, paymentMethod };
  return world.ask<Answer>(merchant, PAY, { key, input });
};

test.each([
  ['pm_ok', 'SUCCEEDED', []],
  ['pm_declined', 'DECLINED', ['PAYMENT_DECLINED']],
])(
  'a replay of %s while the database is gone tells the decision, and that the payment cannot be read',
  async (method, decision, codes) => {
    const key = freshKey();
    expect((await pay(key, method)).data?.createPayment.payment).not.toBeNull();
    const { run } = world.database;
    world.database.run = () => Promise.reject(new JournalUnavailable('gone'));
    const { data, errors } = await pay(key, method).finally(() => {
      world.database.run = run;
    });
    expect(data?.createPayment.idempotency.outcome).toBe('REPLAYED');
    expect(data?.createPayment.userErrors.map(({ code }) => code)).toEqual(codes);
    expect(data?.createPayment.payment).toBeNull();
    expect(errors?.map(({ path, extensions }) => ({ path, extensions }))).toEqual([
      {
        path: ['createPayment', 'payment'],
        extensions: {
          code: 'PAYMENT_UNREADABLE',
          decision,
          retryable: true,
          safeToRetryWithSameKey: true,
          retryAfterMs: 1_000,
        },
      },
    ]);
    expect((await pay(key, method)).data?.createPayment.payment).not.toBeNull();
  },
);
