import { createHash } from 'node:crypto';
import type {
  Charge,
  Conclusion,
  Doubt,
  Found,
  Journal,
  JournalEntry,
  NewPayment,
  Outcome,
  Payment,
  Psp,
  Recorded,
} from '../../src/payments/index.ts';
import { chargesOnly } from '../support/charges-only.ts';
import { newPayment } from '../support/new-payment.ts';

const AT = new Date('2026-01-01T00:00:00Z');
const DIGEST = createHash('sha256').update('the same').digest();

export const COMMAND: NewPayment = newPayment({ merchantId: 'merchant', idempotencyKey: 'key' });

export function recorded(entry: Partial<JournalEntry> = {}): Recorded {
  const payment: Payment = {
    merchantId: 'merchant',
    id: 'payment',
    transactionId: null,
    amountMinor: 1_050,
    currency: 'EUR',
    status: 'PROCESSING',
    authorizedMinor: 0,
    capturedMinor: 0,
    captureReservedMinor: 0,
    refundedMinor: 0,
    refundReservedMinor: 0,
    voidReserved: false,
    psp: null,
    pspReference: null,
    authorizedUntil: null,
    nextActionUrl: null,
    paymentMethod: 'pm_ok',
    description: null,
    metadata: null,
    version: 1,
    nextCheckAt: null,
    createdAt: AT,
    updatedAt: AT,
  };
  return {
    payment,
    entry: {
      merchantId: 'merchant',
      id: 'entry',
      paymentId: 'payment',
      idempotencyKey: 'key',
      operation: 'CHARGE',
      amountMinor: 1_050,
      currency: 'EUR',
      psp: 'fake',
      fingerprintVersion: 1,
      fingerprint: DIGEST,
      state: 'SENDING',
      outcomeSource: null,
      attempt: 1,
      pspIdempotencyKey: 'psp-key',
      leaseLeftMs: 20_000,
      pspReference: null,
      declineCode: null,
      softDecline: null,
      reason: null,
      request: null,
      nextCheckAt: null,
      createdAt: AT,
      settledAt: null,
      ...entry,
    },
  };
}

export function doubtOf(more: Partial<Doubt> = {}, entry: Partial<JournalEntry> = {}): Doubt {
  return {
    ...recorded({ state: 'UNKNOWN', attempt: 2, ...entry }),
    ownerToken: 'owner',
    ageMs: 60_000,
    checks: 0,
    ...more,
  };
}

/** A journal that does as it is told and remembers what it was told. */
export function fakeJournal(more: Partial<Journal> = {}) {
  const told: Conclusion[] = [];
  const journal: Journal = {
    open: async () => ({ kind: 'opened', hold: { ...recorded(), ownerToken: 'owner' } }),
    reopen: async ({ entry }) => ({
      kind: 'opened',
      hold: { ...recorded({ ...entry, state: 'SENDING', attempt: 2 }), ownerToken: 'owner' },
    }),
    settle: async ({ entry, payment }, conclusion) => {
      told.push(conclusion);
      const { state, source, reason } = conclusion;
      return { payment, moved: true, entry: { ...entry, state, outcomeSource: source, reason } };
    },
    takeOver: async () => [],
    ...more,
  };
  return { journal, told };
}

interface FakePsp extends Psp {
  readonly charges: Charge[];
  readonly searches: string[];
}

export function fakePsp(says: { readonly charge?: Outcome; readonly find?: Found }): FakePsp {
  const charges: Charge[] = [];
  const searches: string[] = [];
  return {
    ...chargesOnly,
    name: 'fake',
    keyWindowMs: 86_400_000,
    settlingMs: 5_000,
    askAgainMs: 60_000,
    charges,
    searches,
    charge: async (charge) => {
      charges.push(charge);
      return says.charge ?? { kind: 'unknown', reason: 'timeout' };
    },
    find: async (reference) => {
      searches.push(reference);
      return says.find ?? { kind: 'none' };
    },
  };
}

export const PAID = {
  kind: 'succeeded' as const,
  pspReference: 'ch_1',
  amountMinor: 1_050,
  currency: 'EUR',
} satisfies Outcome;
