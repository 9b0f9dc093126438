import type { EntryRecord, Event, Evidence, Heard, PaymentRecord, Struck } from './records.ts';

/** A payment without any fault, and pieces to plant faults with. */
export const T0 = Date.parse('2026-01-01T00:00:00Z');
const AMOUNT = { amountMinor: 1_050, currency: 'EUR' };

export const DONE: Extract<Heard, { kind: 'answered' }> = {
  kind: 'answered',
  outcome: 'EXECUTED',
  error: null,
  declineCode: null,
  paymentId: 'p1',
  status: 'CAPTURED',
};
export const DECLINED: Heard = {
  ...DONE,
  error: 'PAYMENT_DECLINED',
  declineCode: 'do_not_honor',
  status: 'DECLINED',
};
export const UNKNOWN: Heard = {
  ...DONE,
  outcome: 'IN_DOUBT',
  error: 'OUTCOME_UNKNOWN',
  status: 'UNKNOWN',
};

export function ask(id: number, at: number, amountMinor = 1_050): Event {
  const input = { amount: { amountMinor, currency: 'EUR' }, paymentMethod: 'pm_ok' };
  const where = { merchantId: 'm1', key: 'k1', field: 'createPayment', server: 's1' } as const;
  return { kind: 'ask', id, at: T0 + at, ...where, input };
}
export const told = (id: number, at: number, heard: Heard): Event => ({
  kind: 'told',
  id,
  at: T0 + at,
  heard,
});

export const ENTRY: EntryRecord = {
  id: 'e1',
  merchantId: 'm1',
  paymentId: 'p1',
  key: 'k1',
  operation: 'CHARGE',
  ...AMOUNT,
  state: 'SUCCEEDED',
  source: 'SYNC',
  reason: null,
  declineCode: null,
  attempt: 1,
  pspKey: 'psp-key-1',
  createdAt: T0 + 5,
  settledAt: T0 + 30,
};
/** A key whose payment was taken back unsent and then cancelled; who comes with whatever is told so. */
export const cancelledUnsent = (heard: Heard): Partial<Evidence> => ({
  events: [ask(1, 0, 2_000), told(1, 40, heard)],
  entries: [{ ...ENTRY, state: 'FAILED', source: 'OPERATOR', reason: 'cancelled' }],
  payments: [{ ...PAYMENT, status: 'NOT_SENT', authorizedMinor: 0, capturedMinor: 0 }],
  postings: [],
  outbox: [],
  executions: [],
  requests: [],
  moves: [],
  sends: [],
  reads: [],
});
export const CANCELLED: Heard = {
  ...DONE,
  error: 'INTENT_CANCELLED',
  paymentId: null,
  status: null,
};
export const PAYMENT: PaymentRecord = {
  id: 'p1',
  merchantId: 'm1',
  transactionId: 'order-1',
  ...AMOUNT,
  status: 'CAPTURED',
  authorizedMinor: 1_050,
  capturedMinor: 1_050,
  refundedMinor: 0,
  reservedMinor: 0,
};
export const EXECUTION = {
  reference: 'e1',
  kind: 'charge',
  ...AMOUNT,
  idempotencyKey: 'psp-key-1',
  at: new Date(T0 + 20).toISOString(),
} as const;
export const REQUEST = {
  method: 'POST',
  path: '/v1/charges',
  reference: 'e1',
  idempotencyKey: 'psp-key-1',
  at: new Date(T0 + 15).toISOString(),
};
const LEG = { entryId: 'e1', currency: 'EUR' };
export const EVENT = {
  ...{ id: 'o1', merchantId: 'm1', entryId: 'e1', type: 'charge.succeeded', version: 2 },
  position: 1,
};
export const READ = { merchantId: 'm1', id: 'o1', type: 'charge.succeeded' };
export const MOVE = {
  entryId: 'e1',
  attempt: 1,
  owner: 'w1',
  state: 'SENDING',
  server: 's1',
  at: T0 + 5,
};
export const DONE_MOVE = { ...MOVE, state: 'SUCCEEDED', at: T0 + 30 };
/** A server that stood still at T2 with the answer in its hand, while another took over. */
const PAUSE: Struck = {
  kind: 'struck',
  at: T0 + 25,
  until: T0 + 9_000,
  cell: 'F2-stopped@T2',
  server: 's1',
  point: 'T2',
  action: 'stop',
  detail: 'e1 1 SUCCEEDED SYNC',
};
export const TAKEN_OVER = {
  ...MOVE,
  attempt: 2,
  owner: 'w2',
  state: 'UNKNOWN',
  server: 's2',
  at: T0 + 4_000,
};
const OVERTAKEN = [MOVE, TAKEN_OVER, { ...TAKEN_OVER, state: 'SUCCEEDED', at: T0 + 4_100 }];
export const REDIS_DOWN: Struck = {
  ...PAUSE,
  cell: 'F4-redis-refuses@claim',
  point: 'claim',
  detail: '',
};

/** One payment that was charged once and answered twice, with nothing wrong. */
export const GOOD: Evidence = {
  events: [ask(1, 0), told(1, 40, DONE), ask(2, 50), told(2, 60, { ...DONE, outcome: 'REPLAYED' })],
  healedAt: T0 + 10_000,
  entries: [ENTRY],
  payments: [PAYMENT],
  postings: [
    { ...LEG, account: 'psp_clearing', signedMinor: 1_050 },
    { ...LEG, account: 'merchant_payable', signedMinor: -1_050 },
  ],
  outbox: [EVENT],
  executions: [EXECUTION],
  requests: [REQUEST],
  mayNeedReview: false,
  moves: [MOVE, DONE_MOVE],
  sends: [{ at: T0 + 15, server: 's1', reference: 'e1' }],
  observations: [],
  reads: [READ],
  spills: [],
  complaints: [],
};

export const declined: Partial<Evidence> = {
  events: [ask(1, 0), told(1, 40, DECLINED)],
  entries: [{ ...ENTRY, state: 'DECLINED', declineCode: 'do_not_honor' }],
  payments: [{ ...PAYMENT, status: 'DECLINED', authorizedMinor: 0, capturedMinor: 0 }],
  postings: [],
  outbox: [{ ...EVENT, type: 'charge.declined' }],
  executions: [],
};

export const overtaken: Partial<Evidence> = {
  events: [...GOOD.events, PAUSE],
  moves: OVERTAKEN,
  observations: [{ entryId: 'e1', attempt: 1 }],
};

export const again = (...more: Event[]): Partial<Evidence> => ({
  events: [...GOOD.events, ...more],
});

const REFUSED: Heard = { kind: 'refused', status: 503, code: 'IDEMPOTENCY_UNAVAILABLE' };

export function twice(): Partial<Evidence> {
  const during = [ask(3, 100), told(3, 130, { ...DONE, outcome: 'REPLAYED' })];
  return { events: [...GOOD.events, ...during, REDIS_DOWN], executions: [EXECUTION, EXECUTION] };
}

function refusals(from: number, many: number): Event[] {
  return Array.from({ length: many }, (_, index) => [
    ask(from + index, 100 + index),
    told(from + index, 101 + index, REFUSED),
  ]).flat();
}

export const refusedWithoutRedis = (): Event[] => [...GOOD.events, ...refusals(10, 50), REDIS_DOWN];
/** One intent that is answered, and five that are refused until all is healed. */
export const mostlyOpen = (): Event[] => [
  ...GOOD.events,
  ...refusals(10, 5).map((event): Event => {
    return event.kind === 'ask' ? { ...event, key: `k${event.id}` } : event;
  }),
];
export const mostlyRefused = (): Event[] => [...GOOD.events, ...refusals(10, 50)];

export function cardAsked(): Event {
  const asked = ask(1, 0);
  return { ...asked, input: { paymentMethod: '4242424242424242' } } as Event;
}
