import type { LineEnd, PaymentEvent } from '../payments/index.ts';
import { fromGlobalId, toGlobalId } from './global-id.ts';
import type { Place } from './page.ts';
import { badInput } from './refusals.ts';

const CURSOR = 'events';
const WRITTEN = /^([\da-f-]{36}):(0|[1-9]\d{0,14})$/;

/** A page of a merchant's line of events. */
export interface EventPage {
  readonly merchantId: string;
  /** After this position. */
  readonly position: number;
  readonly nodes: readonly PaymentEvent[];
  readonly hasNextPage: boolean;
}
export type EventPlace = Place<PaymentEvent>;

/** A place in a merchant's line; the same in queries and in streams. */
export const eventCursor = ({ merchantId, position }: LineEnd): string =>
  toGlobalId(CURSOR, `${merchantId}:${position}`);

/** @throws BAD_USER_INPUT if it is no cursor of this merchant's events */
export function positionOf(merchantId: string, cursor: string, argument = 'after'): number {
  const [, owner, position] = WRITTEN.exec(fromGlobalId(CURSOR, cursor) ?? '') ?? [];
  if (owner !== merchantId || position === undefined) throw noCursor(argument);
  return Number(position);
}

export const noCursor = (argument = 'after') =>
  badInput(argument, 'is not a cursor of these events');
