import { validate as isUuid } from 'uuid';
import type { Payment } from '../payments/index.ts';
import { fromGlobalId, toGlobalId } from './global-id.ts';
import { badInput } from './refusals.ts';

const MOST = 100;
const CURSOR = 'after';

/** A page of payments; a cursor is the payment's place, so it stays right while payments arrive. */
export interface PaymentPage {
  readonly payments: readonly Payment[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
}

export function cursorOf(payment: Payment): string {
  return toGlobalId(CURSOR, payment.id);
}

/** @throws BAD_USER_INPUT for a page size out of bounds or a cursor that is none of ours */
export function pageRequest(first: number, after: string | undefined) {
  if (first < 1 || first > MOST) throw badInput('first', `must be from 1 to ${MOST}`);
  if (after === undefined) return { first, after };
  const id = fromGlobalId(CURSOR, after);
  if (id === undefined || !isUuid(id))
    throw badInput('after', 'is not a cursor of this connection');
  return { first, after: id };
}
