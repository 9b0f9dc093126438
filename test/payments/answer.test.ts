import { describe, expect, test } from 'vitest';
import {
  answerOf,
  isFinal,
  isTerminal,
  PAYMENT_STATUSES,
  statusAfter,
} from '../../src/payments/index.ts';
import { recorded } from './fakes.ts';

describe('the status of a payment', () => {
  test.each([
    ['CHARGE', 'SENDING', null, 'PROCESSING'],
    ['CHARGE', 'PENDING', null, 'PROCESSING'],
    ['CHARGE', 'SUCCEEDED', 'SYNC', 'CAPTURED'],
    ['AUTHORIZE', 'SUCCEEDED', 'SYNC', 'AUTHORIZED'],
    ['CHARGE', 'DECLINED', 'SYNC', 'DECLINED'],
    ['CHARGE', 'FAILED', 'SYNC', 'FAILED'],
    ['CHARGE', 'FAILED', 'NOT_SENT', 'NOT_SENT'],
    ['CHARGE', 'UNKNOWN', null, 'UNKNOWN'],
    ['CHARGE', 'IN_REVIEW', 'INQUIRY', 'IN_REVIEW'],
  ] as const)('after a %s in %s by %s is %s', (operation, state, source, status) => {
    expect(statusAfter(operation, state, source)).toBe(status);
  });

  test('is REQUIRES_ACTION also if only a look-up said that the buyer is waited for', () => {
    expect(statusAfter('CHARGE', 'UNKNOWN', null, 'https://bank.test/')).toBe('REQUIRES_ACTION');
  });

  test('is terminal if nothing more comes by itself', () => {
    expect(PAYMENT_STATUSES.filter(isTerminal)).toEqual([
      'CAPTURED',
      'PARTIALLY_REFUNDED',
      'REFUNDED',
      'VOIDED',
      'DECLINED',
      'FAILED',
      'EXPIRED',
    ]);
  });
});

describe('the answer to an intent', () => {
  test.each([
    [{ state: 'SUCCEEDED' }, 'succeeded', true],
    [{ state: 'DECLINED' }, 'declined', true],
    [{ state: 'FAILED', outcomeSource: 'SYNC' }, 'failed', true],
    [{ state: 'FAILED', outcomeSource: 'NOT_SENT' }, 'psp-unavailable', false],
    [{ state: 'SENDING' }, 'unknown', false],
    [{ state: 'UNKNOWN' }, 'unknown', false],
    [{ state: 'PENDING' }, 'pending', false],
    [{ state: 'IN_REVIEW' }, 'in-review', false],
  ] as const)('for %j is %s', (entry, kind, final) => {
    const answer = answerOf(recorded(entry));
    expect(answer.decision.kind).toBe(kind);
    expect(isFinal(answer.decision)).toBe(final);
    expect(JSON.parse(JSON.stringify(answer))).toEqual(answer);
  });

  test('of a payment that was not sent names no payment', () => {
    const answer = answerOf(recorded({ state: 'FAILED', outcomeSource: 'NOT_SENT' }), 700);
    expect(answer).toMatchObject({
      paymentId: null,
      decision: { kind: 'psp-unavailable', retryAfterMs: 700 },
    });
  });
});
