import { type Answer, data, refusal } from './answers.ts';

/** What the fake server knows of a key. */
export interface Book {
  readonly input: unknown;
  state: 'SUCCEEDED' | 'DECLINED' | 'PENDING' | 'NOT_SENT';
  readonly id: string;
}

/** The fake server's books: a key executes once, replays, and is bound to its input. */
export class Books {
  readonly charges: { readonly key: string; readonly input: unknown }[] = [];
  readonly #books = new Map<string, Book>();

  createPayment(key: string, input: unknown, decision: Book['state']): Answer {
    const found = this.#books.get(key);
    if (found && JSON.stringify(found.input) !== JSON.stringify(input)) {
      return refusal(422, 'IDEMPOTENCY_KEY_REUSED');
    }
    const book = found ?? { input, state: 'NOT_SENT', id: `pay_${this.#books.size + 1}` };
    this.#books.set(key, book);
    const open = book.state === 'NOT_SENT' || book.state === 'PENDING';
    if (open) this.#decide(key, book, decision);
    const outcome = book.state === 'PENDING' ? 'IN_DOUBT' : open ? 'EXECUTED' : 'REPLAYED';
    return data({
      createPayment: {
        __typename: 'CreatePaymentPayload',
        payment: book.state === 'NOT_SENT' ? null : payment(book),
        userErrors: problems(book.state),
        idempotency: {
          __typename: 'IdempotencyReceipt',
          key,
          outcome,
          attempt: 1,
          firstSeenAt: NOW,
          answerExpiresAt: null,
        },
      },
    });
  }

  /** A pending payment is decided when it is asked about, by either way of asking. */
  byKey(key: string, decision: Book['state']): Answer {
    const book = this.#books.get(key);
    if (book === undefined) return data({ idempotencyKey: null });
    if (book.state === 'PENDING') this.#decide(key, book, decision);
    const { state, next } = RECORDED[book.state];
    const paid = book.state === 'NOT_SENT' ? null : payment(book);
    return data({
      idempotencyKey: {
        __typename: 'IdempotencyRecord',
        key,
        operation: 'createPayment',
        state,
        next,
        payment: paid,
      },
    });
  }

  settle(key: string, state: 'SUCCEEDED' | 'DECLINED'): void {
    const book = this.#books.get(key);
    if (book === undefined) throw new TypeError(`The fake server does not know the key ${key}.`);
    if (book.state === 'PENDING') this.#decide(key, book, state);
  }

  #decide(key: string, book: Book, state: Book['state']): void {
    book.state = state;
    if (state === 'SUCCEEDED') this.charges.push({ key, input: book.input });
  }
}

const NOW = '2026-01-01T00:00:00.000Z';

const RECORDED = {
  SUCCEEDED: { state: 'SUCCEEDED', next: 'RETRY_SAME_KEY' },
  DECLINED: { state: 'DECLINED', next: 'NEW_KEY' },
  PENDING: { state: 'PENDING', next: 'WAIT' },
  NOT_SENT: { state: 'FAILED', next: 'RETRY_SAME_KEY' },
} as const;

const STATUS = { SUCCEEDED: 'CAPTURED', DECLINED: 'DECLINED', PENDING: 'PROCESSING' } as const;

function payment({ id, state, input }: Book): unknown {
  const asked = Object(Object(input).amount);
  return {
    __typename: 'Payment',
    id,
    transactionId: null,
    status: state === 'NOT_SENT' ? 'PROCESSING' : STATUS[state],
    isTerminal: state !== 'PENDING',
    amount: {
      __typename: 'Money',
      amountMinor: Number(asked.amountMinor),
      currency: asked.currency,
      decimal: (Number(asked.amountMinor) / 100).toFixed(2),
    },
    nextCheckAt: null,
    version: 1,
    createdAt: NOW,
  };
}

function problems(state: Book['state']): readonly unknown[] {
  const message = 'The fake server says so.';
  const rest = { message, path: null };
  switch (state) {
    case 'DECLINED': {
      const code = 'PAYMENT_DECLINED';
      const __typename = 'PaymentDeclined';
      return [{ __typename, code, ...rest, declineCode: 'insufficient_funds', soft: true }];
    }
    case 'NOT_SENT':
      return [{ __typename: 'PspUnavailable', code: 'PSP_UNAVAILABLE', ...rest, retryAfterMs: 20 }];
    case 'SUCCEEDED':
    case 'PENDING':
      return [];
  }
}
