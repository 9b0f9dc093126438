import { describe, expect, test, vi } from 'vitest';
import {
  type CreatePaymentDeps,
  createPayment,
  type Journal,
  JournalUnavailable,
  lookUpPayment,
  NothingSent,
  type Outcome,
  type PaymentReader,
} from '../../src/payments/index.ts';
import { COMMAND, fakeJournal, fakePsp, PAID, recorded } from './fakes.ts';

function scene(says: { charge?: Outcome } = {}, more: Partial<Journal> = {}) {
  const { journal, told } = fakeJournal(more);
  const psp = fakePsp({ charge: PAID, ...says });
  const unrecorded: unknown[] = [];
  let nowMs = 0;
  const deps: CreatePaymentDeps = {
    journal,
    psp,
    now: () => nowMs,
    leaseMs: 22_000,
    pspTimeoutMs: 15_000,
    onUnrecorded: (error) => unrecorded.push(error),
  };
  return { deps, psp, told, unrecorded, pass: (ms: number) => (nowMs += ms) };
}

describe('a new payment', () => {
  test.each<[string, Outcome, string, string]>([
    ['approves', PAID, 'done', 'succeeded'],
    [
      'declines',
      { kind: 'declined', pspReference: null, declineCode: 'stolen', soft: false },
      'done',
      'declined',
    ],
    ['rejects', { kind: 'rejected', code: 'bad_request' }, 'done', 'failed'],
    [
      'was not reached',
      { kind: 'notSent', reason: 'refused', retryAfterMs: 700 },
      'released',
      'psp-unavailable',
    ],
    ['decides later', { kind: 'pending', pspReference: 'ch_1' }, 'open', 'pending'],
    ['did not answer', { kind: 'unknown', reason: 'timeout' }, 'open', 'unknown'],
    ['names another amount', { ...PAID, amountMinor: 1 }, 'open', 'in-review'],
  ])('whose PSP %s', async (_, charge, kind, decision) => {
    const { deps, psp } = scene({ charge });
    const ended = await createPayment(deps, COMMAND);
    expect(ended).toMatchObject({ kind, first: true, answer: { decision: { kind: decision } } });
    expect(psp.charges).toHaveLength(1);
  });

  test('goes to review by way of UNKNOWN', async () => {
    const { deps, told } = scene({ charge: { ...PAID, currency: 'USD' } });
    await createPayment(deps, COMMAND);
    expect(told.map(({ state }) => state)).toEqual(['UNKNOWN', 'IN_REVIEW']);
  });

  test('that the journal cannot write is not sent', async () => {
    const cause = new JournalUnavailable('no answer');
    const { deps, psp } = scene({}, { open: () => Promise.reject(cause) });
    const told = createPayment(deps, COMMAND);
    await expect(told).rejects.toBeInstanceOf(NothingSent);
    await expect(told).rejects.toMatchObject({ cause });
    expect(psp.charges).toEqual([]);
  });

  test('whose outcome cannot be written is in doubt, never failed and never an error', async () => {
    for (const error of [new JournalUnavailable('no answer'), new Error('a check forbids it')]) {
      const { deps, unrecorded } = scene({}, { settle: () => Promise.reject(error) });
      expect(await createPayment(deps, COMMAND)).toMatchObject({
        kind: 'open',
        answer: { decision: { kind: 'unknown' } },
        payment: { status: 'UNKNOWN' },
      });
      expect(unrecorded).toEqual([error]);
    }
  });

  test('that took too long to write is not sent any more', async () => {
    const slow = scene(
      {},
      {
        open: async () => {
          slow.pass(6_001);
          return { kind: 'opened', hold: { ...recorded(), ownerToken: 'owner' } };
        },
      },
    );
    expect(await createPayment(slow.deps, COMMAND)).toMatchObject({ kind: 'released' });
    expect(slow.psp.charges).toEqual([]);
    expect(slow.told).toMatchObject([{ state: 'FAILED', source: 'NOT_SENT' }]);
  });

  test('that somebody else has ended meanwhile is answered as it stands', async () => {
    const taken = recorded({ state: 'DECLINED', outcomeSource: 'INQUIRY', attempt: 2 });
    const { deps } = scene({}, { settle: async () => ({ ...taken, moved: false }) });
    expect(await createPayment(deps, COMMAND)).toMatchObject({
      kind: 'done',
      answer: { decision: { kind: 'declined' }, attempt: 2 },
    });
  });

  test('whose transaction id is taken names the payment that has it', async () => {
    const { deps, psp } = scene(
      {},
      { open: async () => ({ kind: 'transaction-id-taken', paymentId: 'other' }) },
    );
    expect(await createPayment(deps, COMMAND)).toMatchObject({
      kind: 'released',
      answer: { decision: { kind: 'transaction-id-taken', paymentId: 'other' } },
    });
    expect(psp.charges).toEqual([]);
  });
});

describe('a key that is there', () => {
  const existing = (entry: Parameters<typeof recorded>[0]) =>
    scene({}, { open: async () => ({ kind: 'exists', ...recorded(entry) }) });

  test.each([
    [{ state: 'SUCCEEDED' }, 'done'],
    [{ state: 'DECLINED' }, 'done'],
    [{ state: 'FAILED', outcomeSource: 'SYNC' }, 'done'],
    [{ state: 'UNKNOWN' }, 'open'],
    [{ state: 'PENDING' }, 'open'],
    [{ state: 'IN_REVIEW' }, 'open'],
    [{ state: 'SENDING', leaseLeftMs: 0 }, 'open'],
    [{ state: 'SENDING', leaseLeftMs: 700 }, 'busy'],
  ] as const)('in %j is answered (%s) and sends nothing', async (entry, kind) => {
    const { deps, psp, told } = existing(entry);
    expect(await createPayment(deps, COMMAND)).toMatchObject({ kind });
    expect(psp.charges).toEqual([]);
    expect(told).toEqual([]);
  });

  test('for another payload is a mismatch in every state', async () => {
    const fingerprint = Buffer.alloc(32, 1);
    for (const state of ['SENDING', 'SUCCEEDED', 'FAILED', 'UNKNOWN'] as const) {
      const { deps, psp } = existing({ state, fingerprint, outcomeSource: 'NOT_SENT' });
      expect(await createPayment(deps, COMMAND)).toMatchObject({ kind: 'mismatch' });
      expect(psp.charges).toEqual([]);
    }
  });

  test('whose payment was not sent is sent under the same PSP key', async () => {
    const { deps, psp } = existing({ state: 'FAILED', outcomeSource: 'NOT_SENT' });
    expect(await createPayment(deps, COMMAND)).toMatchObject({
      kind: 'done',
      answer: { attempt: 2 },
    });
    expect(psp.charges).toMatchObject([{ pspKey: 'psp-key', reference: 'entry' }]);
  });

  test('whose payment was for another PSP is not sent by this one', async () => {
    const { deps, psp } = existing({ state: 'FAILED', outcomeSource: 'NOT_SENT', psp: 'other' });
    expect(await createPayment(deps, COMMAND)).toMatchObject({ kind: 'released' });
    expect(psp.charges).toEqual([]);
  });
});

test('a look-up says what is there and does nothing', async () => {
  const entryByKey = vi.fn<PaymentReader['entryByKey']>(async () => undefined);
  const reader = { entryByKey } as unknown as PaymentReader;
  expect(await lookUpPayment(reader, COMMAND)).toBeUndefined();
  entryByKey.mockResolvedValueOnce(recorded({ state: 'SUCCEEDED' }));
  expect(await lookUpPayment(reader, COMMAND)).toMatchObject({ kind: 'done', first: false });
  expect(entryByKey).toHaveBeenCalledWith('merchant', 'key');
});
