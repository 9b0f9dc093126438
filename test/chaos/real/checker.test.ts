import { expect, test } from 'vitest';
import { check } from './checker.ts';
import type { EntryRecord, Event, Evidence, Heard, PaymentRecord, Struck } from './records.ts';
import { spilledIn } from './secrets.ts';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const AMOUNT = { amountMinor: 1_050, currency: 'EUR' };

const DONE: Extract<Heard, { kind: 'answered' }> = {
  kind: 'answered',
  outcome: 'EXECUTED',
  error: null,
  declineCode: null,
  paymentId: 'p1',
  status: 'CAPTURED',
};
const DECLINED: Heard = {
  ...DONE,
  error: 'PAYMENT_DECLINED',
  declineCode: 'do_not_honor',
  status: 'DECLINED',
};
const UNKNOWN: Heard = {
  ...DONE,
  outcome: 'IN_DOUBT',
  error: 'OUTCOME_UNKNOWN',
  status: 'UNKNOWN',
};

function ask(id: number, at: number, amountMinor = 1_050): Event {
  const input = { amount: { amountMinor, currency: 'EUR' }, paymentMethod: 'pm_ok' };
  const where = { merchantId: 'm1', key: 'k1', field: 'createPayment', server: 's1' } as const;
  return { kind: 'ask', id, at: T0 + at, ...where, input };
}
const told = (id: number, at: number, heard: Heard): Event => ({
  kind: 'told',
  id,
  at: T0 + at,
  heard,
});

const ENTRY: EntryRecord = {
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
const PAYMENT: PaymentRecord = {
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
const EXECUTION = {
  reference: 'e1',
  kind: 'charge',
  ...AMOUNT,
  idempotencyKey: 'psp-key-1',
  at: new Date(T0 + 20).toISOString(),
} as const;
const REQUEST = {
  method: 'POST',
  path: '/v1/charges',
  reference: 'e1',
  idempotencyKey: 'psp-key-1',
  at: new Date(T0 + 15).toISOString(),
};
const LEG = { entryId: 'e1', currency: 'EUR' };
const EVENT = {
  ...{ id: 'o1', merchantId: 'm1', entryId: 'e1', type: 'charge.succeeded', version: 2 },
  position: 1,
};
const READ = { merchantId: 'm1', id: 'o1', type: 'charge.succeeded' };
const MOVE = { entryId: 'e1', attempt: 1, owner: 'w1', state: 'SENDING', server: 's1', at: T0 + 5 };
const DONE_MOVE = { ...MOVE, state: 'SUCCEEDED', at: T0 + 30 };
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
const TAKEN_OVER = {
  ...MOVE,
  attempt: 2,
  owner: 'w2',
  state: 'UNKNOWN',
  server: 's2',
  at: T0 + 4_000,
};
const OVERTAKEN = [MOVE, TAKEN_OVER, { ...TAKEN_OVER, state: 'SUCCEEDED', at: T0 + 4_100 }];
const REDIS_DOWN: Struck = { ...PAUSE, cell: 'F4-redis-refuses@claim', point: 'claim', detail: '' };

/** One payment that was charged once and answered twice, with nothing wrong. */
const GOOD: Evidence = {
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

const declined: Partial<Evidence> = {
  events: [ask(1, 0), told(1, 40, DECLINED)],
  entries: [{ ...ENTRY, state: 'DECLINED', declineCode: 'do_not_honor' }],
  payments: [{ ...PAYMENT, status: 'DECLINED', authorizedMinor: 0, capturedMinor: 0 }],
  postings: [],
  outbox: [{ ...EVENT, type: 'charge.declined' }],
  executions: [],
};

const overtaken: Partial<Evidence> = {
  events: [...GOOD.events, PAUSE],
  moves: OVERTAKEN,
  observations: [{ entryId: 'e1', attempt: 1 }],
};

test('a history without fault is not complained about', () => {
  expect(check(GOOD)).toMatchObject({ violations: [], concluded: 1 });
  expect(check({ ...GOOD, ...declined }).violations).toEqual([]);
  expect(check({ ...GOOD, ...overtaken }).violations).toEqual([]);
});

test('what is planted is found in a text, and so is a statement', () => {
  const secrets = new Map([['hunter2', 'a password']]);
  expect(spilledIn('postgres://shop:hunter2@db failed', secrets)).toEqual(['a password']);
  expect(spilledIn('query: update journal_entries set …', secrets)).toEqual(['a statement']);
  expect(spilledIn('a payment was taken', secrets)).toEqual([]);
});

const again = (...more: Event[]): Partial<Evidence> => ({ events: [...GOOD.events, ...more] });

const REFUSED: Heard = { kind: 'refused', status: 503, code: 'IDEMPOTENCY_UNAVAILABLE' };

function twice(): Partial<Evidence> {
  const during = [ask(3, 100), told(3, 130, { ...DONE, outcome: 'REPLAYED' })];
  return { events: [...GOOD.events, ...during, REDIS_DOWN], executions: [EXECUTION, EXECUTION] };
}

function refusals(from: number, many: number): Event[] {
  return Array.from({ length: many }, (_, index) => [
    ask(from + index, 100 + index),
    told(from + index, 101 + index, REFUSED),
  ]).flat();
}

const refusedWithoutRedis = (): Event[] => [...GOOD.events, ...refusals(10, 50), REDIS_DOWN];
const mostlyRefused = (): Event[] => [...GOOD.events, ...refusals(10, 50)];

function cardAsked(): Event {
  const asked = ask(1, 0);
  return { ...asked, input: { paymentMethod: '4242424242424242' } } as Event;
}

/** What was planted, and the promise that it breaks. */
const PLANTED: readonly (readonly [string, string, Partial<Evidence>])[] = [
  ['P1', 'a second execution', { executions: [EXECUTION, EXECUTION] }],
  [
    'P1',
    'two live payments for one transaction id',
    {
      payments: [PAYMENT, { ...PAYMENT, id: 'p2', authorizedMinor: 0, capturedMinor: 0 }],
    },
  ],
  [
    'P1',
    'more is given back than was taken',
    {
      entries: [ENTRY, { ...ENTRY, id: 'e2', key: 'k2', operation: 'REFUND', amountMinor: 2_000 }],
      executions: [
        EXECUTION,
        { ...EXECUTION, reference: 'e2', kind: 'refund', amountMinor: 2_000 },
      ],
    },
  ],
  [
    'P2',
    'an execution without an entry',
    { executions: [EXECUTION, { ...EXECUTION, reference: 'x' }] },
  ],
  ['P2', 'an execution before the entry', { entries: [{ ...ENTRY, createdAt: T0 + 25 }] }],
  ['P3', 'a success without an execution', { executions: [] }],
  ['P3', 'another amount at the PSP', { executions: [{ ...EXECUTION, amountMinor: 1_051 }] }],
  ['P3', 'a success without postings', { postings: [] }],
  ['P4', 'a decline that was executed', { ...declined, executions: [EXECUTION] }],
  [
    'P5',
    'an execution that the journal never learns of',
    { entries: [{ ...ENTRY, state: 'UNKNOWN', settledAt: null }] },
  ],
  [
    'P6',
    'a terminal state that changes',
    {
      outbox: [
        { ...EVENT, type: 'charge.declined' },
        { ...EVENT, id: 'o2' },
      ],
    },
  ],
  ['P7', 'two decisions', again(ask(3, 70), told(3, 80, DECLINED))],
  ['P7', 'a decision, then not known', again(ask(3, 70), told(3, 80, UNKNOWN))],
  ['P8', 'an answer for another payload', again(ask(3, 70, 2_000), told(3, 80, DONE))],
  [
    'P9',
    'a payment that is not the own one',
    { events: [ask(1, 0), told(1, 40, { ...DONE, paymentId: 'p9' })] },
  ],
  [
    'P10',
    'an entry that stays open',
    { entries: [{ ...ENTRY, state: 'SENDING', settledAt: null }] },
  ],
  ['P10', 'an entry in review', { entries: [{ ...ENTRY, state: 'IN_REVIEW' }] }],
  ['P10', 'money that stays reserved', { payments: [{ ...PAYMENT, reservedMinor: 5 }] }],
  [
    'P12',
    'an acknowledged entry that is gone',
    { entries: [], executions: [], payments: [], requests: [] },
  ],
  [
    'P14',
    'done before it was done',
    { executions: [{ ...EXECUTION, at: new Date(T0 + 90).toISOString() }] },
  ],
  ['P15', 'a second PSP key', { requests: [REQUEST, { ...REQUEST, idempotencyKey: 'psp-key-2' }] }],
  ['P16', 'postings that do not balance', { postings: GOOD.postings.slice(0, 1) }],
  ['P11', 'a second execution while Redis was down', { ...again(REDIS_DOWN), ...twice() }],
  ['P11', 'nothing is decided while only Redis is down', { events: refusedWithoutRedis() }],
  [
    'P13',
    'an owner that comes back after another took over',
    { ...overtaken, moves: [MOVE, TAKEN_OVER, { ...DONE_MOVE, at: T0 + 9_100 }] },
  ],
  [
    'P13',
    'a send by one that woke up, seconds after another took over',
    { ...overtaken, sends: [{ at: T0 + 9_500, server: 's1', reference: 'e1' }] },
  ],
  ['P13', 'an answer to a superseded attempt that is lost', { ...overtaken, observations: [] }],
  ['P13', 'a move of what has ended', { moves: [MOVE, DONE_MOVE, { ...MOVE, state: 'FAILED' }] }],
  ['P17', 'a transition without its event', { outbox: [] }],
  ['P17', 'an event that no reader gets', { reads: [] }],
  ['P17', 'an event that a reader gets twice', { reads: [READ, READ] }],
  [
    'P17',
    'events in another order',
    {
      outbox: [EVENT, { ...EVENT, id: 'o2', entryId: 'e0', position: 2 }],
      reads: [{ ...READ, id: 'o2' }, READ],
    },
  ],
  ['P17', 'an event without its place', { outbox: [{ ...EVENT, position: null }] }],
  ['P18', 'a request that hangs when all is well', again(ask(3, 11_000), told(3, 27_000, DONE))],
  ['P19', 'an API key in a log', { spills: [{ what: 'an API key', where: 'the log of s1' }] }],
  ['P19', 'a card number that was taken', { events: [cardAsked(), told(1, 40, DONE)] }],
  ['log', 'a command that spans slots', { complaints: ['ReplyError: CROSSSLOT Keys in request'] }],
  ['liveness', 'a server that mostly refuses', { events: mostlyRefused() }],
  [
    'liveness',
    'an intent that is never answered',
    { events: [ask(1, 0), told(1, 9, { kind: 'broken', why: 'reset' })] },
  ],
];

test.each(PLANTED)('%s: %s is found', (promise, _what, wrong) => {
  const promises = check({ ...GOOD, ...wrong }).violations.map((violation) => violation.promise);
  expect(promises).toContain(promise);
});
