import type { GraphQLFormattedError } from 'graphql';
import type { Context } from './context.ts';
import { STATUS_OF_CODE } from './refusals.ts';

/** An answer as HTTP sends it. */
export interface GraphQLAnswer {
  readonly status: number;
  readonly headers: Iterable<readonly [string, string]>;
  readonly text: string;
}

interface Result {
  readonly errors?: readonly GraphQLFormattedError[];
  readonly data?: unknown;
}

/**
 * The status line and headers of a result. Errors tell the status only where there is no data: a part
 * that cannot be read must not hide that the payment was made.
 */
export function headOf(
  { errors, data }: Result,
  { replayed }: Pick<Context, 'replayed'>,
): Pick<GraphQLAnswer, 'status'> & { readonly headers: [string, string][] } {
  const headers: [string, string][] = [['cache-control', 'no-store']];
  if (replayed) headers.push(['idempotent-replayed', 'true']);
  const extensions = errors?.[0]?.extensions;
  if (extensions === undefined || (data !== null && data !== undefined)) {
    return { status: 200, headers };
  }
  const retryAfterMs = extensions['retryAfterMs'];
  if (typeof retryAfterMs === 'number') {
    headers.push(['retry-after', String(Math.ceil(retryAfterMs / 1_000))]);
  }
  return { status: STATUS_OF_CODE[String(extensions['code'])] ?? 500, headers };
}
