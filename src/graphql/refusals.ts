import { GraphQLError } from 'graphql';

/** What a refused request is told by code; the HTTP status goes with it if there is no data. */
export const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  IDEMPOTENCY_IN_PROGRESS: 409,
  IDEMPOTENCY_KEY_REUSED: 422,
  IDEMPOTENCY_KEY_INVALID: 400,
  IDEMPOTENCY_UNAVAILABLE: 503,
  IDEMPOTENCY_OUTCOME_UNKNOWN: 409,
  PAYMENT_UNREADABLE: 503,
  BAD_USER_INPUT: 400,
  GRAPHQL_VALIDATION_FAILED: 400,
  GRAPHQL_PARSE_FAILED: 400,
  OPERATION_RESOLUTION_FAILURE: 400,
  BAD_REQUEST: 400,
  PERSISTED_QUERY_NOT_SUPPORTED: 400,
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  RATE_LIMITED: 429,
  WEBHOOKS_NOT_CONFIGURED: 503,
  INTERNAL_SERVER_ERROR: 500,
};

interface Advice {
  readonly retryable: boolean;
  readonly safeToRetryWithSameKey: boolean;
  readonly retryAfterMs?: number;
  readonly [more: string]: unknown;
}

function refusal(code: string, message: string, advice: Advice): GraphQLError {
  return new GraphQLError(message, { extensions: { code, ...advice } });
}

export function inProgress(retryAfterMs: number): GraphQLError {
  return refusal(
    'IDEMPOTENCY_IN_PROGRESS',
    'A request with this idempotency key is still being worked on. Ask again with the same key.',
    { retryable: true, safeToRetryWithSameKey: true, retryAfterMs },
  );
}

/** How a request differs from the first one with its key: paths of arguments, never their values. */
export interface Difference {
  readonly reason: 'PAYLOAD' | 'OPERATION';
  readonly paths: readonly string[];
}

export function keyReused({ reason, paths }: Difference): GraphQLError {
  const what = reason === 'OPERATION' ? 'another operation' : 'other arguments';
  return refusal(
    'IDEMPOTENCY_KEY_REUSED',
    `This idempotency key was used before with ${what}. A new intent needs a new key.`,
    { reason, paths, retryable: false, safeToRetryWithSameKey: false },
  );
}

export function keyInvalid(message: string): GraphQLError {
  return refusal('IDEMPOTENCY_KEY_INVALID', message, {
    retryable: false,
    safeToRetryWithSameKey: false,
  });
}

export function unavailable(retryAfterMs: number): GraphQLError {
  return refusal(
    'IDEMPOTENCY_UNAVAILABLE',
    'The server cannot do this now. This request executed nothing; an earlier one with its key may have. Ask again with the same key.',
    { retryable: true, safeToRetryWithSameKey: true, retryAfterMs },
  );
}

export function outcomeUnknown(): GraphQLError {
  return refusal(
    'IDEMPOTENCY_OUTCOME_UNKNOWN',
    'An earlier request with this idempotency key failed in a way that does not tell what it did.',
    { retryable: false, safeToRetryWithSameKey: true },
  );
}

/**
 * Beside an answer whose decision is kept and whose payment cannot be read just now: `payment: null` does
 * not say that there is none.
 *
 * @param decision what was decided, or null if it is not known yet
 */
export function paymentUnreadable(decision: string | null, retryAfterMs: number): GraphQLError {
  return refusal(
    'PAYMENT_UNREADABLE',
    'The answer stands, and its payment cannot be read now. Ask again, with the same key.',
    { decision, retryable: true, safeToRetryWithSameKey: true, retryAfterMs },
  );
}

/** @param path the argument, such as `input.amount.currency` */
export function badInput(path: string, problem: string): GraphQLError {
  return refusal('BAD_USER_INPUT', `The argument "${path}" ${problem}.`, {
    path: path.split('.'),
    retryable: false,
    safeToRetryWithSameKey: true,
  });
}

export function unauthenticated(): GraphQLError {
  return refusal(
    'UNAUTHENTICATED',
    'An API key is needed: send it as "Authorization: Bearer <key>".',
    { retryable: false, safeToRetryWithSameKey: true },
  );
}

export function forbidden(scope: string): GraphQLError {
  return refusal('FORBIDDEN', `This API key lacks the scope "${scope}".`, {
    retryable: false,
    safeToRetryWithSameKey: true,
  });
}

export function webhooksNotConfigured(): GraphQLError {
  return refusal(
    'WEBHOOKS_NOT_CONFIGURED',
    'This server has no key to keep signing secrets with (WEBHOOK_SECRET_KEY).',
    { retryable: false, safeToRetryWithSameKey: true },
  );
}
