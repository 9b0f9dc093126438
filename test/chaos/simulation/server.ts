import { createHash } from 'node:crypto';
import { resultOf, unlessNothingSent } from '../../../src/graphql/resolvers/ended.ts';
import { type Ending, MemoryStore, Once, type Store } from '../../../src/idempotency/index.ts';
import {
  createPayment,
  type Journal,
  lookUpPayment,
  type NewPayment,
  type PaymentAnswer,
  type PaymentReader,
  type Psp,
} from '../../../src/payments/index.ts';
import type { Scheduler } from './scheduler.ts';

export const TIMES = { leaseMs: 22_000, pspTimeoutMs: 15_000, recoverAfterMs: 30_000 } as const;

export interface Ports {
  readonly store: Store;
  readonly journal: Journal;
  readonly psp: Psp;
  readonly reader: Pick<PaymentReader, 'entryByKey'>;
}

/** One order of a client. */
export function order(key: string, amountMinor: number, paymentMethod: string): NewPayment {
  const digest = createHash('sha256').update(`${amountMinor} ${paymentMethod}`).digest();
  return {
    merchantId: 'm',
    idempotencyKey: key,
    fingerprint: { version: 1, digest },
    amountMinor,
    currency: 'EUR',
    paymentMethod,
    transactionId: null,
    description: null,
    metadata: null,
    psp: 'model',
  };
}

export const newStore = (scheduler: Scheduler) => new MemoryStore(scheduler.clockOf(() => 'store'));

/** The engine and the use case as the mutation joins them, over the given ports. */
export function newServer(name: string, scheduler: Scheduler, ports: Ports) {
  const clock = scheduler.clockOf(() => name);
  const once = new Once({
    store: ports.store,
    clock,
    leaseMs: TIMES.leaseMs,
    answerTtlMs: 86_400_000,
    joinWaitMs: 5_000,
    journaled: true,
  });
  const deps = { ...TIMES, journal: ports.journal, psp: ports.psp, now: () => clock.now() };
  return (asked: NewPayment): Promise<Ending<PaymentAnswer>> =>
    once.run<PaymentAnswer>({
      intent: { scope: asked.merchantId, key: asked.idempotencyKey },
      fingerprint: `1:createPayment:${asked.fingerprint.digest.toString('base64url')}`,
      onInFlight: 'JOIN',
      work: async () => resultOf(await unlessNothingSent(createPayment(deps, asked))),
      look: async () => {
        const seen = await lookUpPayment(ports.reader as PaymentReader, asked);
        return seen === undefined ? undefined : resultOf(seen);
      },
    });
}
