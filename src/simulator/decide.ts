import type { Plan } from './behaviours.ts';
import type { Command } from './command.ts';
import { type Booked, isExpired, type Operation } from './operation.ts';

/** A follow-up without its charge, or a charge without its currency. */
export type Decided =
  | { readonly kind: 'operation'; readonly operation: Operation }
  | { readonly kind: 'no-such-charge' };

/**
 * The whole rule of this PSP: an order, what is asked to happen, and the charge it belongs to
 * → the operation that goes into the books. A refusal for business reasons is a result, too.
 */
export function decide(
  command: Command,
  plan: Plan,
  target: Booked | undefined,
  id: string,
  now: number,
  authorizationWindowMs: number,
): Decided {
  const isFollowUp = command.charge !== null;
  if (isFollowUp && !isCharge(target)) return { kind: 'no-such-charge' };
  const refusal = target === undefined ? null : refusalOf(command, target, now);
  const asked = command.amountMinor ?? target?.operation.amountMinor ?? 0;
  const status = refusal === null ? plan.status : 'declined';
  const settles = status === 'pending' || (plan.changesMind && !isFollowUp);
  return {
    kind: 'operation',
    operation: {
      id,
      kind: command.kind,
      reference: command.reference,
      idempotencyKey: command.idempotencyKey,
      fingerprint: command.fingerprint,
      status,
      amountMinor: plan.wrongAmount ? otherThan(asked) : asked,
      currency: command.currency ?? target?.operation.currency ?? '',
      charge: command.charge,
      declineCode: refusal ?? plan.declineCode,
      soft: refusal === null && plan.soft,
      at: now,
      settlesAt: settles ? now + plan.settleMs : null,
      ...(command.kind === 'authorize' ? { expiresAt: now + authorizationWindowMs } : {}),
    },
  };
}

function isCharge(target: Booked | undefined): boolean {
  return target?.operation.kind === 'charge' || target?.operation.kind === 'authorize';
}

/** Why the charge does not allow it, as a decline code; null if it does. */
function refusalOf({ kind, amountMinor }: Command, target: Booked, now: number): string | null {
  const { operation, executedAt, capturedMinor, refundedMinor, voided } = target;
  const wanted = amountMinor ?? 0;
  if (kind === 'confirm') return isWaiting(target) ? null : 'charge_not_waiting';
  if (executedAt === null) return 'charge_not_succeeded';
  if (voided) return 'charge_voided';
  if (isExpired(target, now)) return 'authorization_expired';
  if (kind === 'void') return capturedMinor > 0 ? 'charge_captured' : null;
  if (kind === 'capture') {
    return wanted > operation.amountMinor - capturedMinor ? 'amount_exceeds_authorized' : null;
  }
  return wanted > capturedMinor - refundedMinor ? 'amount_exceeds_captured' : null;
}

/** True if the buyer has not done yet what the charge waits for. */
function isWaiting({ operation, executedAt, refusal }: Booked): boolean {
  return operation.status === 'requires_action' && executedAt === null && refusal === null;
}

function otherThan(amountMinor: number): number {
  return amountMinor < Number.MAX_SAFE_INTEGER ? amountMinor + 1 : amountMinor - 1;
}
