import { randomUUID } from 'node:crypto';
import type { GraphQLFormattedError } from 'graphql';
import { NotExecuted } from '../idempotency/index.ts';
import { JournalUnavailable } from '../payments/index.ts';
import { STATUS_OF_CODE, unavailable } from './refusals.ts';
import { withoutCardNumbers } from './text.ts';

const UNAVAILABLE_RETRY_MS = 1_000;
const PART_UNREADABLE = 'This cannot be read now. Ask again, with the same key if there was one.';

/**
 * What a client may read of an error. Refusals go out as they are; whatever was not expected goes
 * out as a code and a correlation id, and to `report` as it is. No message repeats a card number.
 */
export function maskError(
  formatted: GraphQLFormattedError,
  original: unknown,
  report: (error: unknown, correlationId: string) => void,
): GraphQLFormattedError {
  if (isUnavailable(original)) {
    const { message, extensions } = unavailable(UNAVAILABLE_RETRY_MS);
    // Of a part of an answer it must not be said that nothing was executed: the payment was made.
    const isPart = (formatted.path?.length ?? 0) > 1;
    return { ...placeOf(formatted), message: isPart ? PART_UNREADABLE : message, extensions };
  }
  const code = String(formatted.extensions?.['code'] ?? 'INTERNAL_SERVER_ERROR');
  if (code !== 'INTERNAL_SERVER_ERROR' && STATUS_OF_CODE[code] !== undefined) {
    return {
      ...formatted,
      message: withoutCardNumbers(formatted.message),
      extensions: { ...advice(code), ...formatted.extensions },
    };
  }
  const correlationId = randomUUID();
  report(original, correlationId);
  return {
    ...placeOf(formatted),
    message: 'The server failed to answer this request.',
    extensions: {
      ...advice('INTERNAL_SERVER_ERROR'),
      code: 'INTERNAL_SERVER_ERROR',
      correlationId,
    },
  };
}

/** The database did not answer, for a read or before anything was sent. */
function isUnavailable(error: unknown): boolean {
  if (error instanceof NotExecuted) return isUnavailable(error.cause);
  return error instanceof JournalUnavailable;
}

/** Codes that GraphQL itself gives out say no more than the code; the rest is the same for all. */
function advice(code: string) {
  return { retryable: code === 'INTERNAL_SERVER_ERROR', safeToRetryWithSameKey: true };
}

function placeOf({ path, locations }: GraphQLFormattedError) {
  return {
    ...(path === undefined ? {} : { path }),
    ...(locations === undefined ? {} : { locations }),
  };
}
