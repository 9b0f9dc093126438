import { validate as isUuid } from 'uuid';
import type { JournalEntry, PageRequest, Payment } from '../payments/index.ts';
import { fromGlobalId, toGlobalId } from './global-id.ts';
import { badInput } from './refusals.ts';

const MOST = 100;
const CURSOR = 'after';

/** A page of a connection; a cursor is a row's own place, so it stays right while rows arrive. */
export interface Page<T extends { readonly id: string }> {
  readonly nodes: readonly T[];
  readonly hasNextPage: boolean;
  readonly hasPreviousPage: boolean;
}
/** What an edge is made of. */
export interface Place<T> {
  readonly cursor: string;
  readonly node: T;
}
export type PaymentPage = Page<Payment>;
export type PaymentPlace = Place<Payment>;
export type EntryPage = Page<JournalEntry>;
export type EntryPlace = Place<JournalEntry>;

const cursorOf = ({ id }: { readonly id: string }) => toGlobalId(CURSOR, id);

/** @throws BAD_USER_INPUT for a page size out of bounds or a cursor that is none of ours */
export function pageRequest({
  first,
  after,
}: {
  readonly first?: number | null;
  readonly after?: string | null;
}): PageRequest {
  const size = pageSize(first);
  if (after === undefined || after === null) return { first: size, after: undefined };
  const id = fromGlobalId(CURSOR, after);
  if (id === undefined || !isUuid(id))
    throw badInput('after', 'is not a cursor of this connection');
  return { first: size, after: id };
}

/** @throws BAD_USER_INPUT if it is out of bounds */
export function pageSize(first: number | null | undefined): number {
  const size = first ?? 20;
  if (size < 1 || size > MOST) throw badInput('first', `must be from 1 to ${MOST}`);
  return size;
}

/** @param found one more than was asked for, if there is one */
export function pageOf<T extends { readonly id: string }>(
  { first, after }: PageRequest,
  found: readonly T[],
): Page<T> {
  return {
    nodes: found.slice(0, first),
    hasNextPage: found.length > first,
    hasPreviousPage: after !== undefined,
  };
}

/** The resolvers of a connection whose parent is a page. */
export function connection<T extends { readonly id: string }>() {
  return {
    edges: ({ nodes }: Page<T>) => nodes.map((node) => ({ cursor: cursorOf(node), node })),
    pageInfo: ({ nodes, hasNextPage, hasPreviousPage }: Page<T>) => {
      const [first] = nodes;
      const last = nodes.at(-1);
      return {
        hasNextPage,
        hasPreviousPage,
        startCursor: first === undefined ? null : cursorOf(first),
        endCursor: last === undefined ? null : cursorOf(last),
      };
    },
  };
}
