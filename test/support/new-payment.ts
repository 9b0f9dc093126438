import { createHash, randomUUID } from 'node:crypto';
import type { NewPayment } from '../../src/payments/index.ts';

/** A payment that nobody has asked for yet; `more` overrides its members. */
export function newPayment(more: Partial<NewPayment> = {}): NewPayment {
  return {
    merchantId: randomUUID(),
    idempotencyKey: `key-${randomUUID()}`,
    fingerprint: { version: 1, digest: createHash('sha256').update('the same').digest() },
    amountMinor: 1_050,
    currency: 'EUR',
    paymentMethod: 'pm_ok',
    transactionId: null,
    description: null,
    metadata: null,
    psp: 'fake',
    ...more,
  };
}
