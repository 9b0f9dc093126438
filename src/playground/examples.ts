export interface Example {
  /** Opens it by link: `/playground?example=<id>`. */
  readonly id: string;
  readonly label: string;
  /** What to see when it is run, in a sentence. */
  readonly see: string;
  /** One operation, whose name becomes the title of its tab. */
  readonly query: string;
  readonly variables: (past: Past) => Variables;
}

/** What an example may build on. */
export interface Past {
  /** The payment that was sent last, with the key it had first. */
  readonly last: SentPayment | undefined;
  /** The id of the payment that was captured last. */
  readonly captured: string | undefined;
  readonly newKey: () => string;
}

/** The variables of a payment that was sent. */
export interface SentPayment {
  readonly idempotencyKey: string;
  readonly input: {
    readonly amount: { readonly amountMinor: number | string; readonly currency: string };
    readonly paymentMethod: string;
  };
}

export type Variables = Readonly<Record<string, unknown>>;

const PAYMENT = `id
      status
      amount { decimal currency }`;

const ANSWER = `payment {
      ${PAYMENT}
    }
    userErrors {
      code
      message
    }
    idempotency {
      outcome
      attempt
      firstSeenAt
    }`;

const createPayment = (name: string): string => `mutation ${name}(
  $idempotencyKey: IdempotencyKey!
  $input: CreatePaymentInput!
) {
  createPayment(idempotencyKey: $idempotencyKey, input: $input) {
    ${ANSWER}
  }
}
`;

/** A first payment of 10.50 euros with a method that makes the simulated PSP behave in some way. */
function firstPayment({ newKey }: Past, paymentMethod = 'pm_ok'): SentPayment {
  return {
    idempotencyKey: newKey(),
    input: { amount: { amountMinor: 1050, currency: 'EUR' }, paymentMethod },
  };
}

function withOtherAmount({ idempotencyKey, input }: SentPayment): Variables {
  const { amount } = input;
  const amountMinor = Number(amount.amountMinor) + 500;
  return { idempotencyKey, input: { ...input, amount: { ...amount, amountMinor } } };
}

/** The list of the panel, in the order of a first visit. */
export const EXAMPLES: readonly Example[] = [
  {
    id: 'pay-once',
    label: 'Pay once',
    see: 'A new key: the payment is CAPTURED and the outcome is EXECUTED.',
    query: createPayment('PayOnce'),
    variables: (past) => ({ ...firstPayment(past) }),
  },
  {
    id: 'same-key-again',
    label: 'Same key again',
    see: 'The last payment once more: the first answer comes back, REPLAYED, and nothing is charged.',
    query: createPayment('SameKeyAgain'),
    variables: (past) => ({ ...(past.last ?? firstPayment(past)) }),
  },
  {
    id: 'same-key-other-amount',
    label: 'Same key, other amount',
    see: 'The key of the last payment for more money: refused with IDEMPOTENCY_KEY_REUSED, HTTP 422.',
    query: createPayment('SameKeyOtherAmount'),
    variables: (past) => withOtherAmount(past.last ?? firstPayment(past)),
  },
  {
    id: 'twice-at-once',
    label: 'Twice at once',
    see: 'A slow PSP: press “Send twice at once”, and one request is EXECUTED while the other JOINED it.',
    query: createPayment('TwiceAtOnce'),
    variables: (past) => ({ ...firstPayment(past, 'pm_slow_1500') }),
  },
  {
    id: 'psp-times-out',
    label: 'PSP times out after charging',
    see: 'It takes as long as the time-out, and is then UNKNOWN, not failed. Look it up by key until it is CAPTURED.',
    query: createPayment('PspTimesOut'),
    variables: (past) => ({ ...firstPayment(past, 'pm_execute_then_hang') }),
  },
  {
    id: 'declined',
    label: 'Declined',
    see: 'No error of the request: the payment is DECLINED, and userErrors says why.',
    query: createPayment('Declined'),
    variables: (past) => ({ ...firstPayment(past, 'pm_declined') }),
  },
  {
    id: 'refund',
    label: 'Refund part of it',
    see: 'Half a euro of the captured payment goes back under a key of its own; run it again, and nothing more goes.',
    query: `mutation Refund($idempotencyKey: IdempotencyKey!, $input: RefundPaymentInput!) {
  refundPayment(idempotencyKey: $idempotencyKey, input: $input) {
    ${ANSWER}
  }
}
`,
    variables: ({ captured, newKey }) => ({
      idempotencyKey: newKey(),
      input: {
        paymentId: captured ?? 'Pay once first: here goes the id of a payment',
        amount: { amountMinor: 50, currency: 'EUR' },
      },
    }),
  },
  {
    id: 'look-up-by-key',
    label: 'Look up by key',
    see: 'What is known of the last key, and what to do next; run it again to see it change.',
    query: `query LookUpByKey($idempotencyKey: IdempotencyKey!) {
  idempotencyKey(key: $idempotencyKey) {
    state
    next
    attempt
    firstSeenAt
    settledAt
    payment {
      ${PAYMENT}
      nextCheckAt
    }
  }
}
`,
    variables: ({ last, newKey }) => ({ idempotencyKey: last?.idempotencyKey ?? newKey() }),
  },
  {
    id: 'latest-payments',
    label: 'Latest payments',
    see: 'Newest first: each intent is there once, however often it was sent.',
    query: `query LatestPayments($first: Int) {
  payments(first: $first) {
    nodes {
      ${PAYMENT}
      createdAt
    }
  }
}
`,
    variables: () => ({ first: 5 }),
  },
  {
    id: 'follow-events',
    label: 'Follow what happens',
    see: 'It stays open: pay in another tab or window, and the event shows up here. Press stop to end it.',
    query: `subscription FollowEvents($after: String) {
  paymentEvents(after: $after) {
    type
    createdAt
    cursor
    payment {
      ${PAYMENT}
    }
  }
}
`,
    variables: () => ({ after: null }),
  },
];
