import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { excerpt, judge } from '../../src/webhooks/reply.ts';
import { pauseMs, retryAfter, USUAL_RETRY_DELAYS_MS } from '../../src/webhooks/schedule.ts';

const DAY_MS = 86_400_000;
const NOW = Date.parse('2026-11-29T12:00:00Z');

describe('the schedule', () => {
  test('is 5 s, then minutes, then hours, about three days in all', () => {
    expect(USUAL_RETRY_DELAYS_MS[0]).toBe(5_000);
    const sorted = [...USUAL_RETRY_DELAYS_MS].sort((a, b) => a - b);
    expect(USUAL_RETRY_DELAYS_MS).toEqual(sorted);
    const days = USUAL_RETRY_DELAYS_MS.reduce((sum, ms) => sum + ms, 0) / DAY_MS;
    expect(days).toBeGreaterThan(3);
    expect(days).toBeLessThan(3.5);
  });

  test('spreads each delay by a fifth, and gives up after the last', () => {
    expect(retryAfter(1, [1_000], 0)).toEqual({ kind: 'again', inMs: 800 });
    expect(retryAfter(1, [1_000], 1)).toEqual({ kind: 'again', inMs: 1_200 });
    expect(retryAfter(2, [1_000], 0.5)).toEqual({ kind: 'give-up' });
  });

  test('waits as long as it is asked to, to a day at most, and never less than its own', () => {
    const asked = (ms: number) => retryAfter(1, [1_000], 0.5, ms);
    expect(asked(60_000)).toEqual({ kind: 'again', inMs: 60_000 });
    expect(asked(10)).toEqual({ kind: 'again', inMs: 1_000 });
    expect(asked(30 * DAY_MS)).toEqual({ kind: 'again', inMs: DAY_MS });
  });

  test('pauses an endpoint from a second to five minutes, asked for to an hour', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (failures, random) => {
          const ms = pauseMs(failures, random);
          expect(ms).toBeGreaterThanOrEqual(800);
          expect(ms).toBeLessThanOrEqual(360_000);
        },
      ),
    );
    expect(pauseMs(1, 0.5)).toBe(1_000);
    expect(pauseMs(3, 0.5)).toBe(4_000);
    expect(pauseMs(1, 0.5, DAY_MS)).toBe(3_600_000);
  });
});

describe('an answer', () => {
  const answered = (httpStatus: number, retryAfterHeader?: string) =>
    judge({ kind: 'answered', httpStatus, retryAfter: retryAfterHeader, body: '' }, NOW);

  test.each([
    [200, 'DELIVERED'],
    [204, 'DELIVERED'],
    [299, 'DELIVERED'],
    [301, 'REDIRECTED'],
    [308, 'REDIRECTED'],
    [400, 'HTTP_ERROR'],
    [410, 'HTTP_ERROR'],
    [500, 'HTTP_ERROR'],
  ])('of %s is %s', (httpStatus, result) => {
    expect(answered(httpStatus)).toMatchObject({ result, isGone: httpStatus === 410 });
  });

  test.each([
    ['120', 120_000],
    ['0', 0],
    [' 7 ', 7_000],
    ['Sun, 29 Nov 2026 12:01:00 GMT', 60_000],
    ['Sun, 29 Nov 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    ['-1', expect.anything()],
    ['1e9', undefined],
    ['', undefined],
  ])('with Retry-After %j asks for %s ms', (text, ms) => {
    const { retryAfterMs } = answered(503, text);
    if (typeof ms === 'object') expect(retryAfterMs === undefined || retryAfterMs >= 0).toBe(true);
    else expect(retryAfterMs).toBe(ms);
  });

  test('is kept without what looks like a secret, also at the cut', () => {
    const secret = `whsec_${'QUJD'.repeat(11)}`;
    const body = `${'x'.repeat(490)} ${secret}`;
    expect(excerpt(body)).toBe(`${'x'.repeat(490)} [redacted`);
    expect(excerpt('card 4111 1111 1111 1111, Bearer abc, sk_live_abcdef\u0000\ud800')).toBe(
      'card [redacted], [redacted] [redacted]  ',
    );
    expect(excerpt('order 12345 is out')).toBe('order 12345 is out');
  });
});
