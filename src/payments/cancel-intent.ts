import { type Ended, wasCancelled } from './answer.ts';
import { type FollowUpDeps, followUp } from './follow-up.ts';
import { type FollowUpOperation, isFirst } from './payment.ts';
import type { FollowUp, Recorded } from './ports.ts';
import { alreadyThere, NothingSent } from './send.ts';

/** A key of createPayment that is to come to nothing, and the key of this very request. */
export interface CancelIntent
  extends Pick<FollowUp, 'merchantId' | 'idempotencyKey' | 'fingerprint' | 'psp'> {
  readonly key: string;
}

export type CancelOpened =
  /** Nothing was ever sent under the key, and nothing will be. */
  | { readonly kind: 'cancelled'; readonly at: Date }
  /** What stands under this request's own key, or else under the key that is to be cancelled. */
  | ({ readonly kind: 'own' | 'exists' } & Recorded);

export interface CancelJournal {
  /**
   * Takes the key's place in the journal, so that a late request with it is refused; or closes an
   * entry that was provably not sent. One statement; it throws `JournalUnavailable`.
   */
  cancel(intent: CancelIntent): Promise<CancelOpened>;
}

export interface CancelDeps extends FollowUpDeps {
  readonly cancels: CancelJournal;
}

/**
 * Brings a key of createPayment to nothing: an entry in its place if it was never used, a void of what
 * is authorised, a refund of what is captured. While the outcome under the key is not known nothing
 * can be undone: the answer says so, and the same request may be sent again.
 *
 * @throws NothingSent if the journal could not be written
 */
export async function cancelIntent(deps: CancelDeps, command: CancelIntent): Promise<Ended> {
  const opened = await deps.cancels.cancel(command).catch((cause: unknown) => {
    throw new NothingSent('The journal entry could not be written.', { cause });
  });
  switch (opened.kind) {
    case 'cancelled':
      return nothingLeft(null, opened.at);
    case 'own':
      return again(deps, opened, command);
    case 'exists':
      return undo(deps, opened, command);
  }
}

/** This request was made before: its entry says what it came to. */
async function again(deps: CancelDeps, own: Recorded, command: CancelIntent): Promise<Ended> {
  const { operation } = own.entry;
  if (operation === 'VOID' || operation === 'REFUND') return undoBy(deps, own, command, operation);
  const there = alreadyThere(own, command);
  return there.kind === 'mismatch' ? there : nothingLeft(null, own.entry.createdAt);
}

async function undo(deps: CancelDeps, found: Recorded, command: CancelIntent): Promise<Ended> {
  const { entry, payment } = found;
  if (wasCancelled(entry)) return nothingLeft(null, entry.createdAt);
  if (!isFirst(entry.operation)) return refuse(found);
  switch (entry.state) {
    case 'SENDING':
    case 'UNKNOWN':
    case 'PENDING':
    case 'IN_REVIEW':
      return notKnownYet(found);
    case 'DECLINED':
    case 'FAILED':
      return nothingLeft(payment.id, entry.settledAt ?? entry.createdAt);
    case 'SUCCEEDED':
      if (payment.status === 'AUTHORIZED') return undoBy(deps, found, command, 'VOID');
      return payment.capturedMinor > payment.refundedMinor
        ? undoBy(deps, found, command, 'REFUND')
        : nothingLeft(payment.id, payment.updatedAt);
  }
}

function undoBy(
  deps: CancelDeps,
  { payment }: Recorded,
  { key, ...asked }: CancelIntent,
  operation: Extract<FollowUpOperation, 'VOID' | 'REFUND'>,
): Promise<Ended> {
  return followUp(deps, {
    ...asked,
    operation,
    paymentId: payment.id,
    amountMinor: null,
    currency: null,
    expectedVersion: null,
    request: { cancels: key },
  });
}

function nothingLeft(paymentId: string | null, at: Date): Ended {
  const seen = at.toISOString();
  const decision = { kind: 'succeeded' } as const;
  const answer = { paymentId, decision, attempt: 1, firstSeenAt: seen, settledAt: seen };
  return { kind: 'done', answer, first: true, payment: null };
}

function notKnownYet({ entry, payment }: Recorded): Ended {
  const nextCheckAt = entry.nextCheckAt?.toISOString() ?? null;
  const decision = { kind: 'unknown', nextCheckAt } as const;
  const firstSeenAt = new Date().toISOString();
  const answer = { paymentId: payment.id, decision, attempt: 0, firstSeenAt, settledAt: null };
  return { kind: 'open', answer, first: true, payment: null };
}

/** The key is one of a capture, void or refund: those are not undone. */
function refuse({ payment }: Recorded): Ended {
  const decision = {
    kind: 'invalid-state',
    currentStatus: payment.status,
    allowedActions: [],
  } as const;
  const firstSeenAt = new Date().toISOString();
  const answer = { paymentId: payment.id, decision, attempt: 0, firstSeenAt, settledAt: null };
  return { kind: 'released', answer, first: true, payment: null };
}
