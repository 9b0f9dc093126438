import { describe, expectTypeOf, it } from 'vitest';
import {
  CreatePaymentDocument,
  PaymentByKeyDocument,
  type PaymentFieldsFragment,
} from '../../src/client/documents.ts';
import {
  createPayClient,
  createPayment,
  idempotent,
  type Outcome,
  type PaymentProblem,
  type TypedDocument,
  unreachable,
} from '../../src/client/index.ts';
import { euros } from './shop.ts';

/** These are checked by the compiler; nothing here is run. */
const never = (_proof: () => unknown): void => {};
const pay = createPayClient({ endpoint: '/graphql', operations: { createPayment } });

interface Refund {
  readonly refund:
    | { readonly __typename: 'Refunded'; readonly id: string }
    | { readonly __typename: 'Refused'; readonly code: string; readonly message: string };
}
declare const RefundDocument: TypedDocument<
  Refund,
  { key: string; payment: string; amount: number; note?: string | null }
>;

function readRefund({ refund }: Refund) {
  switch (refund.__typename) {
    case 'Refunded':
      return { is: 'settled', value: refund.id, replayed: false } as const;
    case 'Refused':
      return { is: 'declined', problem: refund } as const;
  }
}

describe('what compiles', () => {
  it('a payment, with the variables but for the key', () => {
    never(async () => {
      const end = await pay.run('createPayment', euros(500), { scope: 'cart:7:1' });
      if (end.kind === 'settled') {
        expectTypeOf(end.value.amount.amountMinor).toEqualTypeOf<number>();
        expectTypeOf(end.replayed).toEqualTypeOf<boolean>();
      }
      if (end.kind === 'declined') expectTypeOf(end.problem).toEqualTypeOf<PaymentProblem>();
      if (end.kind === 'unknown') {
        type Again = Awaited<ReturnType<typeof end.resume>>;
        expectTypeOf<Again>().toEqualTypeOf<Outcome<PaymentFieldsFragment, PaymentProblem>>();
      }
    });
  });

  it('an operation of another schema', () => {
    never(async () => {
      const refund = idempotent({ mutation: RefundDocument, key: 'key', read: readRefund });
      const other = createPayClient({
        endpoint: '/graphql',
        operations: { refund, createPayment },
      });
      const end = await other.run('refund', { payment: 'p', amount: 1 }, { key: 'mine' });
      if (end.kind === 'settled') expectTypeOf(end.value).toEqualTypeOf<string>();
      if (end.kind === 'declined') expectTypeOf(end.problem.__typename).toEqualTypeOf<'Refused'>();
    });
  });

  it('a switch over all six outcomes', () => {
    never(() => (end: Outcome<string>) => {
      switch (end.kind) {
        case 'settled':
        case 'declined':
        case 'rejected':
        case 'processing':
        case 'unknown':
        case 'blocked':
          return end.kind;
        default:
          return unreachable(end);
      }
    });
  });
});

describe('what does not compile', () => {
  it('no intent', () => {
    // @ts-expect-error: the intent is missing
    never(() => pay.run('createPayment', euros(500)));
    // @ts-expect-error: neither a scope nor a key
    never(() => pay.run('createPayment', euros(500), {}));
    // @ts-expect-error: a scope and a key
    never(() => pay.run('createPayment', euros(500), { scope: 'a', key: 'b' }));
  });

  it('the wrong operation or variables', () => {
    // @ts-expect-error: no such operation
    never(() => pay.run('createRefund', euros(500), { scope: 'a' }));
    // @ts-expect-error: the input is missing
    never(() => pay.run('createPayment', {}, { scope: 'a' }));
    // @ts-expect-error: the key is the client's business
    never(() => pay.run('createPayment', { ...euros(1), idempotencyKey: 'x' }, { scope: 'a' }));
  });

  it('the wrong variable for the key', () => {
    // @ts-expect-error: the document has no such variable
    never(() => idempotent({ mutation: RefundDocument, key: 'idempotencyKey', read: readRefund }));
    // @ts-expect-error: a number cannot carry a key
    never(() => idempotent({ mutation: RefundDocument, key: 'amount', read: readRefund }));
    // @ts-expect-error: what may be left out cannot carry a key
    never(() => idempotent({ mutation: RefundDocument, key: 'note', read: readRefund }));
    // @ts-expect-error: an object cannot carry a key
    never(() => idempotent({ mutation: CreatePaymentDocument, key: 'input', read: readRefund }));
  });

  it('a case of the data that is left out', () => {
    const partial = ({ refund }: Refund) => {
      if (refund.__typename === 'Refunded') {
        return { is: 'settled', value: refund.id, replayed: false } as const;
      }
      return undefined;
    };
    // @ts-expect-error: data without a verdict
    never(() => idempotent({ mutation: RefundDocument, key: 'key', read: partial }));
  });

  it('data of another document', () => {
    const [mutation, key] = [PaymentByKeyDocument, 'idempotencyKey'] as const;
    // @ts-expect-error: the reader is of another document
    never(() => idempotent({ mutation, key, read: readRefund }));
  });

  it('a case of the outcome that is left out', () => {
    never(() => (end: Outcome<string>) => {
      switch (end.kind) {
        case 'settled':
        case 'declined':
        case 'rejected':
        case 'processing':
        case 'unknown':
          return end.kind;
        default:
          // @ts-expect-error: "blocked" is left
          return unreachable(end);
      }
    });
  });

  it('a look-up that says something else', () => {
    const lookup = {
      query: PaymentByKeyDocument,
      key: 'idempotencyKey',
      read: () => ({ is: 'settled', value: 1, replayed: true }) as const,
    } as const;
    // @ts-expect-error: the look-up settles with a number, the mutation with a text
    never(() => idempotent({ mutation: RefundDocument, key: 'key', read: readRefund, lookup }));
  });
});
