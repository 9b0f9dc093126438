import type { FollowUpOperation, Payment, PaymentStatus } from './payment.ts';

/** As the GraphQL enum of the same name. */
export const PAYMENT_ACTIONS = ['CAPTURE', 'VOID', 'REFUND', 'CONFIRM'] as const;
export type PaymentAction = (typeof PAYMENT_ACTIONS)[number];

/** The statuses from which each follow-up may be asked for; the tables' statements use the same. */
export const ALLOWED_FROM: Readonly<Record<FollowUpOperation, readonly PaymentStatus[]>> = {
  CAPTURE: ['AUTHORIZED', 'PARTIALLY_CAPTURED', 'PARTIALLY_REFUNDED'],
  VOID: ['AUTHORIZED'],
  REFUND: ['PARTIALLY_CAPTURED', 'CAPTURED', 'PARTIALLY_REFUNDED'],
  CONFIRM: ['REQUIRES_ACTION'],
};

/** Why a follow-up is not begun. Nothing was sent and nothing written. */
export type Refusal =
  | { readonly kind: 'payment-not-found' }
  | { readonly kind: 'currency-mismatch'; readonly currency: string }
  | { readonly kind: 'version-conflict'; readonly currentVersion: number }
  | {
      readonly kind: 'invalid-state';
      readonly currentStatus: PaymentStatus;
      readonly allowedActions: readonly PaymentAction[];
    }
  | { readonly kind: 'amount-limit'; readonly maximumMinor: number; readonly currency: string };

interface Asked {
  readonly operation: FollowUpOperation;
  /** Null: all that remains. */
  readonly amountMinor: number | null;
  readonly currency: string | null;
  readonly expectedVersion: number | null;
  readonly psp: string;
}

/** What may still be captured; money that is being captured or may have been does not count. */
export function capturableMinor(payment: Payment): number {
  if (payment.voidReserved || !ALLOWED_FROM.CAPTURE.includes(payment.status)) return 0;
  return payment.authorizedMinor - payment.capturedMinor - payment.captureReservedMinor;
}

/** What may still be refunded; money that is being refunded or may have been does not count. */
export function refundableMinor(payment: Payment): number {
  if (!ALLOWED_FROM.REFUND.includes(payment.status)) return 0;
  return payment.capturedMinor - payment.refundedMinor - payment.refundReservedMinor;
}

/** What the PSP may have moved without our knowing: what is on its way or without an outcome. */
export function inDoubtMinor(payment: Payment): number {
  const { status, amountMinor, captureReservedMinor, refundReservedMinor } = payment;
  if (status === 'UNKNOWN' || status === 'IN_REVIEW') return amountMinor;
  return captureReservedMinor + refundReservedMinor;
}

export function allowedActions(payment: Payment): readonly PaymentAction[] {
  return PAYMENT_ACTIONS.filter((action) => isAllowed(action, payment));
}

function isAllowed(action: PaymentAction, payment: Payment): boolean {
  switch (action) {
    case 'CAPTURE':
      return capturableMinor(payment) > 0;
    case 'REFUND':
      return refundableMinor(payment) > 0;
    case 'VOID':
      return mayVoid(payment);
    case 'CONFIRM':
      return payment.status === 'REQUIRES_ACTION';
  }
}

function mayVoid({ status, voidReserved, capturedMinor, captureReservedMinor }: Payment): boolean {
  return status === 'AUTHORIZED' && !voidReserved && capturedMinor + captureReservedMinor === 0;
}

/** Why the payment as it stands does not allow what is asked, or undefined if it does. */
export function refusalOf(payment: Payment | undefined, asked: Asked): Refusal | undefined {
  if (payment === undefined) return { kind: 'payment-not-found' };
  const { currency, version, status } = payment;
  if (asked.currency !== null && asked.currency !== currency) {
    return { kind: 'currency-mismatch', currency };
  }
  if (asked.expectedVersion !== null && asked.expectedVersion !== version) {
    return { kind: 'version-conflict', currentVersion: version };
  }
  const elsewhere = payment.psp !== asked.psp || payment.pspReference === null;
  if (elsewhere || !ALLOWED_FROM[asked.operation].includes(status)) return invalidState(payment);
  return limitOf(payment, asked);
}

function limitOf(payment: Payment, asked: Asked): Refusal | undefined {
  switch (asked.operation) {
    case 'CONFIRM':
      return undefined;
    case 'VOID':
      return mayVoid(payment) ? undefined : invalidState(payment);
    case 'CAPTURE':
      if (payment.voidReserved) return invalidState(payment);
      return exceeding(capturableMinor(payment), payment, asked);
    case 'REFUND':
      return exceeding(refundableMinor(payment), payment, asked);
  }
}

/** "All that remains" of nothing is refused, too. */
function exceeding(maximumMinor: number, { currency }: Payment, asked: Asked): Refusal | undefined {
  if ((asked.amountMinor ?? 1) <= maximumMinor) return undefined;
  return { kind: 'amount-limit', maximumMinor, currency };
}

function invalidState(payment: Payment): Refusal {
  return {
    kind: 'invalid-state',
    currentStatus: payment.status,
    allowedActions: allowedActions(payment),
  };
}
