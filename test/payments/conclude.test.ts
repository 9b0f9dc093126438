import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { concludeDoubt, nextCheckMs } from '../../src/payments/conclude.ts';
import {
  type Conclusion,
  concludeFound,
  concludeSend,
  concludeTakenReference,
  type EntryState,
  type Found,
  type Outcome,
} from '../../src/payments/index.ts';

const ASKED = { amountMinor: 1_050, currency: 'EUR' };
const PSP = { keyWindowMs: 86_400_000, settlingMs: 5_000, askAgainMs: 60_000 };
const doubt = (more: object = {}) => ({
  ...ASKED,
  state: 'UNKNOWN' as EntryState,
  checks: 0,
  ageMs: 60_000,
  ...more,
});

const paid: Outcome = { kind: 'succeeded', pspReference: 'ch_1', ...ASKED };
const outcomes: Record<Outcome['kind'], Outcome> = {
  succeeded: paid,
  declined: { kind: 'declined', pspReference: 'ch_2', declineCode: 'stolen', soft: false },
  rejected: { kind: 'rejected', code: 'bad_request' },
  notSent: { kind: 'notSent', reason: 'refused', retryAfterMs: 700 },
  pending: { kind: 'pending', pspReference: 'ch_3' },
  unknown: { kind: 'unknown', reason: 'timeout' },
};

const anyOutcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.record({
    kind: fc.constant('succeeded' as const),
    pspReference: fc.string(),
    amountMinor: fc.oneof(fc.constant(1_050), fc.nat()),
    currency: fc.constantFrom('EUR', 'USD'),
  }),
  fc.constantFrom(...Object.values(outcomes)),
);
const anyFound: fc.Arbitrary<Found> = fc.oneof(
  anyOutcome.map((outcome): Found => ({ kind: 'found', outcome })),
  fc.constant<Found>({ kind: 'none' }),
  fc.constant<Found>({ kind: 'unreachable', reason: 'timeout' }),
);
const anyDoubt = fc.record({
  amountMinor: fc.constant(1_050),
  currency: fc.constant('EUR'),
  state: fc.constantFrom<EntryState>('UNKNOWN', 'PENDING'),
  checks: fc.nat({ max: 50 }),
  ageMs: fc.nat({ max: 10 * PSP.keyWindowMs }),
});

describe('the answer to a first send', () => {
  test.each<[Outcome['kind'], object]>([
    ['succeeded', { state: 'SUCCEEDED', source: 'SYNC', pspReference: 'ch_1', nextCheckMs: null }],
    [
      'declined',
      {
        state: 'DECLINED',
        source: 'SYNC',
        pspReference: 'ch_2',
        declineCode: 'stolen',
        softDecline: false,
      },
    ],
    ['rejected', { state: 'FAILED', source: 'SYNC', reason: 'bad_request' }],
    ['notSent', { state: 'FAILED', source: 'NOT_SENT', reason: 'refused', retryAfterMs: 700 }],
    ['pending', { state: 'PENDING', source: null, pspReference: 'ch_3', nextCheckMs: 2_000 }],
    ['unknown', { state: 'UNKNOWN', source: null, reason: 'timeout', nextCheckMs: 2_000 }],
  ])('%s', (kind, conclusion) => {
    expect(concludeSend(ASKED, outcomes[kind])).toMatchObject(conclusion);
  });

  test.each([
    ['amount', { ...paid, amountMinor: 1_051 }],
    ['currency', { ...paid, currency: 'USD' }],
  ])('that names another %s goes to review, with the reference', (_, outcome) => {
    expect(concludeSend(ASKED, outcome)).toMatchObject({
      state: 'IN_REVIEW',
      pspReference: 'ch_1',
      reason: 'amount mismatch',
    });
  });

  test('fails only by the PSP’s final word or a proof that nothing was sent', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        const { state } = concludeSend(ASKED, outcome);
        const mayFail = outcome.kind === 'rejected' || outcome.kind === 'notSent';
        expect(state === 'FAILED').toBe(mayFail);
        expect(state === 'DECLINED').toBe(outcome.kind === 'declined');
      }),
    );
  });

  test('succeeds only with the amount and the currency that were asked for', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        const agrees =
          outcome.kind === 'succeeded' &&
          outcome.amountMinor === ASKED.amountMinor &&
          outcome.currency === ASKED.currency;
        expect(concludeSend(ASKED, outcome).state === 'SUCCEEDED').toBe(agrees);
      }),
    );
  });

  test('leaves what is open due again, and nothing else', () => {
    fc.assert(
      fc.property(anyOutcome, (outcome) => {
        const { state, nextCheckMs: due } = concludeSend(ASKED, outcome);
        expect(due !== null).toBe(state === 'UNKNOWN' || state === 'PENDING');
      }),
    );
  });
});

describe('what the PSP’s books say of an entry in doubt', () => {
  const settles = (found: Found, more: object = {}) => {
    const step = concludeFound(doubt(more), found, PSP);
    if (step.kind !== 'settle') throw new Error(step.kind);
    return step.conclusion;
  };

  test('a success, a decline and a wrong amount are what they are', () => {
    expect(settles({ kind: 'found', outcome: paid })).toMatchObject({
      state: 'SUCCEEDED',
      source: 'INQUIRY',
    });
    expect(settles({ kind: 'found', outcome: outcomes.declined })).toMatchObject({
      state: 'DECLINED',
      source: 'INQUIRY',
    });
    const wrong = { ...paid, amountMinor: 1 };
    expect(settles({ kind: 'found', outcome: wrong })).toMatchObject({ state: 'IN_REVIEW' });
  });

  test.each(['UNKNOWN', 'PENDING'] as const)('in %s, what is still open stays so', (state) => {
    for (const kind of ['pending', 'unknown', 'notSent', 'rejected'] as const) {
      const found: Found = { kind: 'found', outcome: outcomes[kind] };
      expect(settles(found, { state, checks: 1 })).toMatchObject({ state, nextCheckMs: 10_000 });
    }
    const unreachable: Found = { kind: 'unreachable', reason: 'timeout' };
    expect(settles(unreachable, { state, checks: 2 })).toMatchObject({
      state,
      nextCheckMs: 60_000,
    });
  });

  test.each(['unknown', 'notSent', 'rejected'] as const)(
    'a PSP that has not said how it stands (%s) is asked again soon, however long that goes on',
    (kind) => {
      const again = (step: Conclusion) => step.nextCheckMs;
      for (const checks of [3, 4, 1_000]) {
        const about = { ...doubt({ checks }), ageMs: 3_600_000 };
        expect(again(concludeDoubt(about, outcomes[kind], PSP))).toBe(PSP.askAgainMs);
        expect(again(settles({ kind: 'found', outcome: outcomes[kind] }, about))).toBe(60_000);
        expect(again(settles({ kind: 'unreachable', reason: 'refused' }, about))).toBe(60_000);
        expect(again(settles({ kind: 'found', outcome: outcomes.pending }, about))).toBeGreaterThan(
          PSP.askAgainMs,
        );
      }
    },
  );

  test('what is not in the books yet is asked about once they must have it', () => {
    const none: Found = { kind: 'none' };
    expect(settles(none, { ageMs: 3_500, checks: 2 })).toMatchObject({ nextCheckMs: 1_500 });
    expect(settles(none, { ageMs: 1_000, checks: 0 })).toMatchObject({ nextCheckMs: 2_000 });
  });

  test('nothing, too early: ask again; then send again; past the key window: never', () => {
    const none: Found = { kind: 'none' };
    expect(settles(none, { ageMs: PSP.settlingMs - 1 })).toMatchObject({ state: 'UNKNOWN' });
    for (const ageMs of [PSP.settlingMs, PSP.keyWindowMs - 1]) {
      expect(concludeFound(doubt({ ageMs }), none, PSP)).toEqual({ kind: 'resend' });
    }
    for (const ageMs of [PSP.keyWindowMs, PSP.keyWindowMs * 100]) {
      expect(settles(none, { ageMs })).toMatchObject({ state: 'IN_REVIEW', source: 'INQUIRY' });
    }
  });

  test('is never a failure, whatever they say', () => {
    fc.assert(
      fc.property(anyDoubt, anyFound, (entry, found) => {
        const step = concludeFound(entry, found, PSP);
        if (step.kind === 'settle') expect(step.conclusion.state).not.toBe('FAILED');
        expect(concludeDoubt(entry, outcomes.notSent, PSP).state).toBe(entry.state);
      }),
    );
  });

  test('is a review only past the key window or if the amount is wrong', () => {
    fc.assert(
      fc.property(anyDoubt, anyFound, (entry, found) => {
        const step = concludeFound(entry, found, PSP);
        if (step.kind !== 'settle' || step.conclusion.state !== 'IN_REVIEW') return;
        const wrong =
          found.kind === 'found' &&
          found.outcome.kind === 'succeeded' &&
          (found.outcome.amountMinor !== entry.amountMinor ||
            found.outcome.currency !== entry.currency);
        const tooLate = found.kind === 'none' && entry.ageMs >= PSP.keyWindowMs;
        expect(wrong || tooLate).toBe(true);
      }),
    );
  });

  test('leads to a send only if they have nothing, late enough and early enough', () => {
    fc.assert(
      fc.property(anyDoubt, anyFound, (entry, found) => {
        const resends = concludeFound(entry, found, PSP).kind === 'resend';
        const may =
          found.kind === 'none' && entry.ageMs >= PSP.settlingMs && entry.ageMs < PSP.keyWindowMs;
        expect(resends).toBe(may);
      }),
    );
  });
});

test('the PSP is asked at growing distances, for ever', () => {
  const steps = Array.from({ length: 8 }, (_, checks) => nextCheckMs(checks));
  expect(steps).toEqual([
    2_000, 10_000, 60_000, 300_000, 1_800_000, 1_800_000, 1_800_000, 1_800_000,
  ]);
  expect(nextCheckMs(1_000_000)).toBe(1_800_000);
});

test('a reference of another payment goes to review along the published ways', () => {
  const found = { source: 'INQUIRY' } as const;
  expect(concludeTakenReference('SENDING', found)).toMatchObject({
    state: 'UNKNOWN',
    pspReference: null,
    nextCheckMs: 0,
  });
  for (const state of ['UNKNOWN', 'PENDING'] as const) {
    expect(concludeTakenReference(state, found)).toMatchObject({
      state: 'IN_REVIEW',
      source: 'INQUIRY',
      pspReference: null,
      nextCheckMs: null,
    });
  }
});
