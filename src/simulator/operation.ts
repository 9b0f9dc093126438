export const KINDS = ['charge', 'authorize', 'capture', 'void', 'refund', 'confirm'] as const;
export type Kind = (typeof KINDS)[number];

export type Status = 'succeeded' | 'declined' | 'pending' | 'requires_action';

/** One operation as it was first decided and written down; it never changes afterwards. */
export interface Operation {
  readonly id: string;
  readonly kind: Kind;
  readonly reference: string;
  readonly idempotencyKey: string;
  /** Digest of path and body: what tells a repeat from another request under the same key. */
  readonly fingerprint: string;
  readonly status: Status;
  readonly amountMinor: number;
  readonly currency: string;
  /** The charge a capture, void or refund belongs to. */
  readonly charge: string | null;
  readonly declineCode: string | null;
  readonly soft: boolean;
  /** Times are ms since the epoch. */
  readonly at: number;
  readonly settlesAt: number | null;
  /** Until when an authorisation holds; missing in old books and of other kinds. */
  readonly expiresAt?: number;
}

/** An operation and what has become of it since. */
export interface Booked {
  readonly operation: Operation;
  /** When the money moved; null as long as it has not. */
  executedAt: number | null;
  capturedMinor: number;
  refundedMinor: number;
  voided: boolean;
  /** Why the buyer's confirmation failed; null as long as it has not. */
  refusal: string | null;
}

/** The answer of the request that made the operation, and of every repeat of that request. */
export function firstAnswer(operation: Operation): string {
  const captured =
    operation.status === 'succeeded' &&
    (operation.kind === 'charge' || operation.kind === 'capture');
  return asJson(operation, operation.status, captured ? operation.amountMinor : 0);
}

/** The operation as it stands now. */
export function currentAnswer(booked: Booked): string {
  const { operation, refusal, capturedMinor } = booked;
  const declineCode = refusal ?? operation.declineCode;
  return asJson({ ...operation, declineCode }, statusOf(booked, Date.now()), capturedMinor);
}

function statusOf(booked: Booked, now: number): Status | 'expired' {
  if (booked.refusal !== null) return 'declined';
  if (booked.executedAt === null) return booked.operation.status;
  return isExpired(booked, now) ? 'expired' : 'succeeded';
}

/** True if the money was only reserved, and neither taken nor let go in time. */
export function isExpired({ operation, capturedMinor, voided }: Booked, now: number): boolean {
  const { kind, expiresAt } = operation;
  return kind === 'authorize' && (expiresAt ?? now) < now && capturedMinor === 0 && !voided;
}

function asJson(operation: Operation, status: Status | 'expired', capturedMinor: number): string {
  return JSON.stringify({
    id: operation.id,
    kind: operation.kind,
    reference: operation.reference,
    status,
    amountMinor: operation.amountMinor,
    currency: operation.currency,
    capturedMinor,
    charge: operation.charge ?? undefined,
    declineCode: operation.declineCode ?? undefined,
    soft: operation.soft ? true : undefined,
    nextActionUrl:
      status === 'requires_action' ? `https://psp.invalid/actions/${operation.id}` : undefined,
    authorizedUntil:
      operation.expiresAt === undefined ? undefined : new Date(operation.expiresAt).toISOString(),
    createdAt: new Date(operation.at).toISOString(),
  });
}

/** One line of `GET /admin/executions`. */
export function executionAsJson({ operation, executedAt }: Booked): string {
  return JSON.stringify({
    reference: operation.reference,
    kind: operation.kind,
    amountMinor: operation.amountMinor,
    currency: operation.currency,
    idempotencyKey: operation.idempotencyKey,
    at: new Date(executedAt ?? operation.at).toISOString(),
  });
}
