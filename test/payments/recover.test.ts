import { describe, expect, test, vi } from 'vitest';
import { type Doubt, JournalUnavailable, type Psp, recoverOnce } from '../../src/payments/index.ts';
import { doubtOf, fakeJournal, fakePsp, PAID } from './fakes.ts';

const taking = (doubts: readonly Doubt[]) => fakeJournal({ takeOver: async () => doubts });
const NONE = { taken: 0, settled: 0, resent: 0, stillOpen: 0, inReview: 0, lost: 0 };

const slowly = (psp: Psp, meanwhile: () => void): Psp => ({
  ...psp,
  find: async () => {
    meanwhile();
    return { kind: 'none' };
  },
});

describe('recovery of one entry', () => {
  test('that the PSP has executed books it, and sends nothing', async () => {
    const { journal, told } = taking([doubtOf()]);
    const psp = fakePsp({ find: { kind: 'found', outcome: PAID } });
    expect(await recoverOnce({ journal, psp }, 10)).toEqual({ ...NONE, taken: 1, settled: 1 });
    expect(told).toMatchObject([{ state: 'SUCCEEDED', source: 'INQUIRY' }]);
    expect(psp.charges).toEqual([]);
    expect(psp.searches).toEqual(['entry']);
  });

  test('that is not in the books yet, while they may lag, stays open', async () => {
    const { journal, told } = taking([doubtOf({ ageMs: 4_000 })]);
    const psp = fakePsp({});
    const deps = { journal, psp, now: () => 0 };
    expect(await recoverOnce(deps, 10)).toEqual({ ...NONE, taken: 1, stillOpen: 1 });
    expect(told).toMatchObject([{ state: 'UNKNOWN', nextCheckMs: 1_000 }]);
    expect(psp.charges).toEqual([]);
  });

  test('that never arrived is sent again under the same key', async () => {
    const { journal, told } = taking([doubtOf({ ageMs: 6_000 })]);
    const psp = fakePsp({ charge: PAID });
    expect(await recoverOnce({ journal, psp }, 10)).toEqual({
      ...NONE,
      taken: 1,
      settled: 1,
      resent: 1,
    });
    expect(psp.charges).toEqual([
      {
        reference: 'entry',
        pspKey: 'psp-key',
        amountMinor: 1_050,
        currency: 'EUR',
        paymentMethod: 'pm_ok',
      },
    ]);
    expect(told).toMatchObject([{ state: 'SUCCEEDED' }]);
  });

  test.each([
    ['notSent', { kind: 'notSent', reason: 'refused', retryAfterMs: 1 }],
    ['rejected', { kind: 'rejected', code: 'bad_request' }],
    ['unknown', { kind: 'unknown', reason: 'timeout' }],
  ] as const)(
    'whose second send is %s stays in doubt: the first may have arrived',
    async (_, charge) => {
      const { journal, told } = taking([doubtOf({ ageMs: 6_000 })]);
      await recoverOnce({ journal, psp: fakePsp({ charge }) }, 10);
      expect(told).toMatchObject([{ state: 'UNKNOWN' }]);
    },
  );

  test('past the key window is never sent again: a person must look at it', async () => {
    const { journal, told } = taking([doubtOf({ ageMs: 86_400_000 })]);
    const psp = fakePsp({ charge: PAID });
    expect(await recoverOnce({ journal, psp }, 10)).toEqual({ ...NONE, taken: 1, inReview: 1 });
    expect(told).toMatchObject([{ state: 'IN_REVIEW', source: 'INQUIRY' }]);
    expect(psp.charges).toEqual([]);
  });

  test('by a PSP that cannot be reached is never ended, however long', async () => {
    const psp = fakePsp({ find: { kind: 'unreachable', reason: 'refused' } });
    for (const ageMs of [0, 60_000, 86_400_000, 864_000_000]) {
      const { journal, told } = taking([doubtOf({ ageMs, checks: 7 })]);
      expect(await recoverOnce({ journal, psp }, 10)).toMatchObject({ stillOpen: 1 });
      expect(told).toMatchObject([{ state: 'UNKNOWN', nextCheckMs: 60_000 }]);
    }
    expect(psp.charges).toEqual([]);
  });

  test('that is pending stays pending until the PSP decides', async () => {
    const pending = doubtOf({}, { state: 'PENDING' });
    const { journal, told } = taking([pending, pending]);
    const found = { kind: 'found', outcome: { kind: 'pending', pspReference: 'ch_1' } } as const;
    await recoverOnce({ journal, psp: fakePsp({ find: found }) }, 10);
    expect(told).toMatchObject([{ state: 'PENDING' }, { state: 'PENDING' }]);
  });
});

describe('a recoverer', () => {
  test('asks for no more than it may, and only for what its PSP was sent', async () => {
    const takeOver = vi.fn(async () => []);
    const { journal } = fakeJournal({ takeOver });
    expect(await recoverOnce({ journal, psp: fakePsp({}) }, 7)).toEqual(NONE);
    expect(takeOver).toHaveBeenCalledExactlyOnceWith(7, 'fake');
  });

  test('that was held up sends nothing: half of the lease is for the send', async () => {
    let nowMs = 0;
    const now = () => nowMs;
    const { journal, told } = taking([doubtOf({}, { leaseLeftMs: 20_000 })]);
    const psp = fakePsp({ charge: PAID });
    const slow = slowly(psp, () => {
      nowMs += 10_000;
    });
    expect(await recoverOnce({ journal, psp: slow, now }, 10)).toEqual({
      ...NONE,
      taken: 1,
      lost: 1,
    });
    expect(psp.charges).toEqual([]);
    expect(told).toEqual([]);
  });

  test('that was held up until the PSP has forgotten the key sends nothing either', async () => {
    let nowMs = 0;
    const now = () => nowMs;
    const { journal, told } = taking([
      doubtOf({ ageMs: 86_399_000 }, { leaseLeftMs: 1_000_000_000 }),
    ]);
    const psp = fakePsp({ charge: PAID });
    const slow = slowly(psp, () => {
      nowMs += 1_000;
    });
    await recoverOnce({ journal, psp: slow, now }, 10);
    expect(psp.charges).toEqual([]);
    expect(told).toMatchObject([{ state: 'IN_REVIEW' }]);
  });

  test('that was superseded counts the entry as lost', async () => {
    const { journal } = fakeJournal({
      takeOver: async () => [doubtOf()],
      settle: async ({ entry, payment }) => ({ entry, payment, moved: false }),
    });
    const psp = fakePsp({ find: { kind: 'found', outcome: PAID } });
    expect(await recoverOnce({ journal, psp }, 10)).toEqual({ ...NONE, taken: 1, lost: 1 });
  });

  test('says what it could not write, and goes on with the others', async () => {
    const bad = doubtOf({}, { id: 'bad' });
    const works = fakeJournal();
    const { journal } = fakeJournal({
      takeOver: async () => [doubtOf(), bad, doubtOf()],
      settle: async (hold, conclusion) => {
        if (hold.entry.id === 'bad') throw new JournalUnavailable('no answer');
        return works.journal.settle(hold, conclusion);
      },
    });
    const errors: unknown[] = [];
    const psp = fakePsp({ find: { kind: 'found', outcome: PAID } });
    const deps = { journal, psp, onUnrecorded: (error: unknown) => errors.push(error) };
    expect(await recoverOnce(deps, 10)).toEqual({ ...NONE, taken: 3, settled: 2, lost: 1 });
    expect(errors).toMatchObject([{ message: 'no answer' }]);
  });

  test('survives an adapter that breaks its word and throws', async () => {
    const { journal, told } = taking([doubtOf({}, { id: 'bad' }), doubtOf()]);
    const psp = fakePsp({ find: { kind: 'found', outcome: PAID } });
    const broken = {
      ...psp,
      find: async (reference: string) => {
        if (reference === 'bad') throw new Error('broken');
        return psp.find(reference);
      },
    };
    expect(await recoverOnce({ journal, psp: broken }, 10)).toMatchObject({ settled: 1, lost: 1 });
    expect(told).toHaveLength(1);
  });

  test('says so if the journal cannot be asked', async () => {
    const { journal } = fakeJournal({
      takeOver: async () => {
        throw new JournalUnavailable('no answer');
      },
    });
    await expect(recoverOnce({ journal, psp: fakePsp({}) }, 10)).rejects.toBeInstanceOf(
      JournalUnavailable,
    );
  });
});
