import { createHash } from 'node:crypto';
import { resultOf, unlessNothingSent } from '../../../src/graphql/resolvers/ended.ts';
import { type Ending, MemoryStore, Once, type Store } from '../../../src/idempotency/index.ts';
import {
  type CancelIntent,
  type CancelJournal,
  cancelIntent,
  createPayment,
  type Ended,
  type FollowUp,
  type FollowUpJournal,
  followUp,
  type Heard,
  hearEvent,
  type Inbox,
  type Journal,
  type Letter,
  lookUpPayment,
  type NewPayment,
  type PaymentAnswer,
  type PaymentReader,
  type Psp,
  type Reversals,
} from '../../../src/payments/index.ts';
import type { Scheduler } from './scheduler.ts';

export const TIMES = { leaseMs: 22_000, pspTimeoutMs: 15_000, recoverAfterMs: 30_000 } as const;

export interface Ports {
  readonly store: Store;
  readonly journal: Journal;
  readonly followUps: FollowUpJournal;
  readonly cancels: CancelJournal;
  readonly inbox: Inbox;
  readonly reversals: Reversals;
  readonly psp: Psp;
  readonly reader: Pick<PaymentReader, 'entryByKey'>;
}

/** What a client asks for, whichever mutation it is. */
export type Request =
  | { readonly field: 'createPayment'; readonly asked: NewPayment }
  | { readonly field: 'followUp'; readonly asked: FollowUp }
  | { readonly field: 'cancel'; readonly asked: CancelIntent };

const digests = new Map<string, Buffer>();

/** The same bytes for the same text, computed once. */
function digestOf(text: string): { readonly version: number; readonly digest: Buffer } {
  let digest = digests.get(text);
  if (digest === undefined) {
    digest = createHash('sha256').update(text).digest();
    digests.set(text, digest);
  }
  return { version: 1, digest };
}

const who = { merchantId: 'm', psp: 'model' } as const;

/** One order of a client. */
export function order(
  key: string,
  amountMinor: number,
  paymentMethod: string,
  operation: 'CHARGE' | 'AUTHORIZE' = 'CHARGE',
): Request {
  const asked: NewPayment = {
    ...who,
    idempotencyKey: key,
    fingerprint: digestOf(`${amountMinor} ${paymentMethod} ${operation}`),
    amountMinor,
    currency: 'EUR',
    paymentMethod,
    operation,
    transactionId: null,
    description: null,
    metadata: null,
  };
  return { field: 'createPayment', asked };
}

/** A step of a payment that exists; null is all that remains. */
export function step(
  key: string,
  paymentId: string,
  operation: FollowUp['operation'],
  amountMinor: number | null,
): Request {
  const asked: FollowUp = {
    ...who,
    idempotencyKey: key,
    paymentId,
    operation,
    amountMinor,
    currency: null,
    expectedVersion: null,
    fingerprint: digestOf(`${operation} ${paymentId} ${amountMinor}`),
    request: { paymentId },
  };
  return { field: 'followUp', asked };
}

export function cancellation(idempotencyKey: string, key: string): Request {
  const fingerprint = digestOf(`cancel ${key}`);
  return { field: 'cancel', asked: { ...who, idempotencyKey, key, fingerprint } };
}

export const newStore = (scheduler: Scheduler) => new MemoryStore(scheduler.clockOf(() => 'store'));

export interface Server {
  readonly ask: (request: Request) => Promise<Ending<PaymentAnswer>>;
  readonly hear: (letter: Letter) => Promise<Heard>;
}

/** The engine and the use cases as the mutations join them, over the given ports. */
export function newServer(name: string, scheduler: Scheduler, ports: Ports): Server {
  const clock = scheduler.clockOf(() => name);
  const once = new Once({
    store: ports.store,
    clock,
    leaseMs: TIMES.leaseMs,
    answerTtlMs: 86_400_000,
    joinWaitMs: 5_000,
    journaled: true,
  });
  const deps = { ...TIMES, ...ports, now: () => clock.now() };
  const run = ({ field, asked }: Request): Promise<Ended> => {
    switch (field) {
      case 'createPayment':
        return createPayment(deps, asked);
      case 'followUp':
        return followUp(deps, asked);
      case 'cancel':
        return cancelIntent(deps, asked);
    }
  };
  return {
    hear: (letter) => hearEvent(ports, letter),
    ask: (request) => {
      const { asked, field } = request;
      return once.run<PaymentAnswer>({
        intent: { scope: asked.merchantId, key: asked.idempotencyKey },
        fingerprint: `1:${field}:${asked.fingerprint.digest.toString('base64url')}`,
        onInFlight: 'JOIN',
        work: async () => resultOf(await unlessNothingSent(run(request))),
        look: async () => {
          const seen = await lookUpPayment(ports.reader as PaymentReader, asked);
          return seen === undefined ? undefined : resultOf(seen);
        },
      });
    },
  };
}
