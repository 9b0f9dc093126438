import { describe, expect, test } from 'vitest';
import { type Outcome, type PspEvent, reactTo } from '../../src/payments/index.ts';
import { PAID, recorded } from './fakes.ts';

const event = (outcome: Outcome, more: Partial<PspEvent> = {}): PspEvent => ({
  eventId: 'evt',
  type: 'charge.told',
  reference: 'entry',
  outcome,
  ...more,
});
const entryIn = (...given: Parameters<typeof recorded>) => recorded(...given).entry;
const DECLINED: Outcome = {
  kind: 'declined',
  pspReference: 'ch_1',
  declineCode: 'no',
  soft: false,
};
const PENDING: Outcome = { kind: 'pending', pspReference: 'ch_1' };
const UNKNOWN: Outcome = { kind: 'unknown', reason: 'unreadable' };

describe('of an entry without an outcome', () => {
  test.each(['SENDING', 'UNKNOWN', 'PENDING'] as const)('%s', (state) => {
    const entry = entryIn({ state });
    expect(reactTo(entry, event(PAID), false)).toMatchObject({
      kind: 'settle',
      conclusion: { state: 'SUCCEEDED', source: 'WEBHOOK', pspReference: 'ch_1' },
    });
    expect(reactTo(entry, event(DECLINED), false)).toMatchObject({
      kind: 'settle',
      conclusion: { state: 'DECLINED', source: 'WEBHOOK', declineCode: 'no', softDecline: false },
    });
    expect(reactTo(entry, event(PENDING), false)).toMatchObject({
      kind: 'note',
      said: { state: 'PENDING' },
    });
    expect(reactTo(entry, event(UNKNOWN), false)).toEqual({ kind: 'hurry' });
  });

  test.each([
    ['another amount', { ...PAID, amountMinor: 1_051 }, false, 'amount mismatch'],
    ['another currency', { ...PAID, currency: 'USD' }, false, 'amount mismatch'],
    ['a reference of another payment', PAID, true, 'the reference of another payment'],
  ])('%s goes to review, by way of UNKNOWN', (_, outcome, isTaken, reason) => {
    expect(reactTo(entryIn(), event(outcome), isTaken)).toMatchObject({
      kind: 'doubt',
      conclusion: { state: 'UNKNOWN', source: null, reason, nextCheckMs: 0 },
    });
    expect(reactTo(entryIn({ state: 'UNKNOWN' }), event(outcome), isTaken)).toMatchObject({
      kind: 'settle',
      conclusion: { state: 'IN_REVIEW', source: 'WEBHOOK', reason },
    });
  });
});

describe('of an outcome that is known', () => {
  const succeeded = entryIn({ state: 'SUCCEEDED', pspReference: 'ch_1' });
  const declined = entryIn({ state: 'DECLINED', declineCode: 'no' });

  test('the same again agrees', () => {
    expect(reactTo(succeeded, event(PAID), false)).toEqual({ kind: 'agree' });
    expect(reactTo(declined, event(DECLINED), false)).toEqual({ kind: 'agree' });
    expect(reactTo(entryIn({ state: 'FAILED' }), event(DECLINED), false)).toEqual({
      kind: 'agree',
    });
  });

  test('less than is known is noted', () => {
    for (const entry of [succeeded, declined]) {
      expect(reactTo(entry, event(PENDING), false)).toMatchObject({ kind: 'note' });
    }
  });

  test.each([
    ['a decline after a success', succeeded, DECLINED],
    ['a success after a decline', declined, PAID],
    ['a success of what failed', entryIn({ state: 'FAILED', outcomeSource: 'SYNC' }), PAID],
    [
      'a success of what was not sent',
      entryIn({ state: 'FAILED', outcomeSource: 'NOT_SENT' }),
      PAID,
    ],
    ['another amount', succeeded, { ...PAID, amountMinor: 1 }],
    ['a second execution', succeeded, { ...PAID, pspReference: 'ch_2' }],
  ])('%s contradicts', (_, entry, outcome) => {
    expect(reactTo(entry, event(outcome), false)).toMatchObject({ kind: 'contradict' });
  });

  test('what a person has to decide stays with the person', () => {
    const entry = entryIn({ state: 'IN_REVIEW' });
    for (const outcome of [PAID, DECLINED]) {
      expect(reactTo(entry, event(outcome), false)).toMatchObject({ kind: 'note' });
    }
  });
});

test('a void that is not ours has the books asked', () => {
  const told = event(PAID, { operation: 'VOID' });
  expect(reactTo(entryIn({ operation: 'AUTHORIZE' }), told, false)).toEqual({ kind: 'hurry' });
  expect(reactTo(entryIn({ operation: 'VOID' }), told, false)).toMatchObject({ kind: 'settle' });
});
