import { expect, test } from 'vitest';
import { check } from './checker.ts';
import {
  again,
  ask,
  CANCELLED,
  cancelledUnsent,
  cardAsked,
  DECLINED,
  DONE,
  DONE_MOVE,
  declined,
  ENTRY,
  EVENT,
  EXECUTION,
  GOOD,
  MOVE,
  mostlyOpen,
  mostlyRefused,
  overtaken,
  PAYMENT,
  READ,
  REDIS_DOWN,
  REQUEST,
  refusedWithoutRedis,
  T0,
  TAKEN_OVER,
  told,
  twice,
  UNKNOWN,
} from './good-history.ts';
import type { Evidence } from './records.ts';
import { spilledIn } from './secrets.ts';

test('a history without fault is not complained about', () => {
  expect(check(GOOD)).toMatchObject({ violations: [], concluded: 1 });
  expect(check({ ...GOOD, ...declined }).violations).toEqual([]);
  expect(check({ ...GOOD, ...overtaken }).violations).toEqual([]);
  expect(check({ ...GOOD, ...cancelledUnsent(CANCELLED) }).violations).toEqual([]);
});

test('what is planted is found in a text, and so is a statement', () => {
  const secrets = new Map([['hunter2', 'a password']]);
  expect(spilledIn('postgres://shop:hunter2@db failed', secrets)).toEqual(['a password']);
  expect(spilledIn('query: update journal_entries set …', secrets)).toEqual(['a statement']);
  expect(spilledIn('a payment was taken', secrets)).toEqual([]);
});

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
  [
    'P7',
    'the right payload refused as another one',
    again(
      ask(3, 70),
      told(3, 80, { kind: 'refused', status: 422, code: 'IDEMPOTENCY_KEY_REUSED' }),
    ),
  ],
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
  ['P12', 'a cancelled key that is answered as done', cancelledUnsent(DONE)],
  ['P17', 'an event without its place', { outbox: [{ ...EVENT, position: null }] }],
  ['P18', 'a request that hangs when all is well', again(ask(3, 11_000), told(3, 27_000, DONE))],
  ['P19', 'an API key in a log', { spills: [{ what: 'an API key', where: 'the log of s1' }] }],
  ['P19', 'a card number that was taken', { events: [cardAsked(), told(1, 40, DONE)] }],
  ['log', 'a command that spans slots', { complaints: ['ReplyError: CROSSSLOT Keys in request'] }],
  ['liveness', 'a server that mostly refuses', { events: mostlyRefused() }],
  ['liveness', 'intents that nobody ends before all is healed', { events: mostlyOpen() }],
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
