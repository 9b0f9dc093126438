import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Reply } from '../../src/psp/exchange.ts';
import { foundIn, outcomeOf } from '../../src/psp/outcome.ts';

const charge = {
  id: 'ch_1',
  reference: 'ref',
  status: 'succeeded',
  amountMinor: 1_050,
  currency: 'EUR',
  capturedMinor: 1_050,
  createdAt: '2026-01-01T00:00:00.000Z',
};

function answered(status: number, body: unknown, retryAfter: string | null = null): Reply {
  return { kind: 'answered', status, body, retryAfter };
}
const outcome = (body: unknown, status = 200) => outcomeOf(answered(status, body), 'ref');

describe('the outcome of a charge', () => {
  it.each([
    ['a success', charge, 'succeeded'],
    ['an unknown status word', { ...charge, status: 'paid' }, 'unknown'],
    ['no id', { ...charge, id: undefined }, 'unknown'],
    ['an empty id', { ...charge, id: '' }, 'unknown'],
    ['another reference', { ...charge, reference: 'other' }, 'unknown'],
    ['no amount', { ...charge, amountMinor: undefined }, 'unknown'],
    ['an amount as text', { ...charge, amountMinor: '1050' }, 'unknown'],
    ['an amount that is not exact', { ...charge, amountMinor: 2 ** 53 }, 'unknown'],
    ['a currency that is none', { ...charge, currency: 'EURO' }, 'unknown'],
    ['a list', [charge], 'unknown'],
    ['not JSON', undefined, 'unknown'],
    ['null', null, 'unknown'],
    ['an error with 200', { error: { code: 'invalid_request' } }, 'unknown'],
    ['a decline', { ...charge, status: 'declined' }, 'declined'],
    ['pending', { ...charge, status: 'pending' }, 'pending'],
    ['requires action', { ...charge, status: 'requires_action' }, 'pending'],
  ])('%s with status 200', (_name, body, kind) => {
    expect(outcome(body).kind).toBe(kind);
  });

  it.each([202, 204, 301, 307, 401, 403, 404, 408, 409, 422, 500, 502, 503, 504])(
    'status %i is unknown whatever its body',
    (status) => {
      for (const body of [charge, undefined, { error: { code: 'invalid_request' } }]) {
        expect(outcome(body, status).kind).toBe('unknown');
      }
    },
  );

  it('400 is a rejection only with the code that says so', () => {
    const error = { code: 'invalid_request', message: 'amountMinor: …' };
    expect(outcome({ error }, 400)).toEqual({ kind: 'rejected', code: 'invalid_request' });
    expect(outcome({ error: { code: 'other' } }, 400).kind).toBe('unknown');
    expect(outcome(undefined, 400).kind).toBe('unknown');
  });

  it.each([
    ['2', 2_000],
    [' 7 ', 7_000],
    ['0', 1_000],
    ['999999', 60_000],
    ['-5', 1_000],
    ['Wed, 21 Oct 2026 07:28:00 GMT', 1_000],
    [null, 1_000],
  ])('429 with Retry-After %j waits %i ms', (retryAfter, retryAfterMs) => {
    expect(outcomeOf(answered(429, undefined, retryAfter), 'ref')).toMatchObject({
      kind: 'notSent',
      retryAfterMs,
    });
  });

  it('a lost exchange is unknown unless it is proven that nothing was sent', () => {
    const lost = { kind: 'lost', unreachable: false, reason: 'why' } as const;
    expect(outcomeOf({ ...lost, sent: true }, 'ref')).toEqual({ kind: 'unknown', reason: 'why' });
    expect(outcomeOf({ ...lost, sent: false }, 'ref').kind).toBe('notSent');
  });

  it('text of the PSP gets no further than a short word', () => {
    const declined = { ...charge, status: 'declined', soft: true };
    for (const declineCode of ['Card 4111 refused', '<b>', 'x'.repeat(65), '', null, undefined]) {
      expect(outcome({ ...declined, declineCode })).toMatchObject({
        kind: 'declined',
        declineCode: 'declined',
        soft: true,
      });
    }
  });

  it('is total: it never throws, and succeeds only on a success about our reference', () => {
    const body = fc.oneof(
      fc.jsonValue(),
      fc.record(
        {
          id: fc.oneof(fc.string(), fc.constant('ch_1'), fc.integer()),
          reference: fc.constantFrom('ref', 'other', null),
          status: fc.constantFrom('succeeded', 'declined', 'pending', 'SUCCEEDED', '', 1),
          amountMinor: fc.oneof(fc.integer(), fc.double(), fc.string()),
          currency: fc.constantFrom('EUR', 'eur', 'E', '', null),
        },
        { requiredKeys: [] },
      ),
    );
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 999 }), body, (status, value) => {
        const result = outcome(value, status);
        if (result.kind !== 'succeeded') return;
        const { reference, status: word, amountMinor } = value as typeof charge;
        expect([200, 201]).toContain(status);
        expect([reference, word]).toEqual(['ref', 'succeeded']);
        expect(result.amountMinor).toBe(amountMinor);
        expect(result.currency).toBe('EUR');
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('what a look-up finds', () => {
  const found = (...data: unknown[]) => foundIn(answered(200, { data }), 'ref');
  const declined = { ...charge, id: 'ch_2', status: 'declined', declineCode: 'do_not_honor' };
  const pending = { ...charge, id: 'ch_3', status: 'pending' };

  it('nothing is none; a success wins; then what is open; then the newest', () => {
    const kind = (...data: unknown[]) => {
      const result = found(...data);
      return result.kind === 'found' ? result.outcome.kind : result.kind;
    };
    expect(kind()).toBe('none');
    expect(kind(declined, charge, pending)).toBe('succeeded');
    expect(kind(pending, declined)).toBe('pending');
    expect(found(declined, { ...declined, id: 'ch_9' })).toMatchObject({
      outcome: { kind: 'declined', pspReference: 'ch_9' },
    });
  });

  it('beside an object that cannot be read only a success is believed', () => {
    expect(found(declined, { ...charge, status: 'perplexed' }).kind).toBe('unreachable');
    expect(found(pending, {}).kind).toBe('unreachable');
    expect(found({}, charge)).toMatchObject({ outcome: { kind: 'succeeded' } });
    expect(found({ ...charge, reference: 'other' }).kind).toBe('unreachable');
  });

  it.each([
    answered(200, undefined),
    answered(200, {}),
    answered(200, { data: null }),
    answered(200, []),
    answered(404, { data: [] }),
    answered(429, undefined, '1'),
    answered(500, { data: [] }),
    { kind: 'lost', sent: false, unreachable: true, reason: 'connection refused' } as const,
  ])('%j is unreachable, never none', (reply) => {
    expect(foundIn(reply, 'ref').kind).toBe('unreachable');
  });
});
