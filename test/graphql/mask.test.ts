import { GraphQLError } from 'graphql';
import { describe, expect, test } from 'vitest';
import { maskError } from '../../src/graphql/mask.ts';
import { NotExecuted } from '../../src/idempotency/index.ts';
import { JournalUnavailable } from '../../src/payments/index.ts';

const reported: string[] = [];
const mask = (original: unknown, path: readonly string[], message = 'inside') =>
  maskError({ message, path, extensions: { code: 'INTERNAL_SERVER_ERROR' } }, original, (_, id) => {
    reported.push(id);
  });

describe('what a client may read of an error', () => {
  test('of an unexpected one: a code and the id under which it was reported', () => {
    const masked = mask(new TypeError('inside'), ['createPayment']);
    expect(JSON.stringify(masked)).not.toContain('inside');
    expect(masked.extensions).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
    expect(reported.at(-1)).toBe(masked.extensions?.['correlationId']);
  });

  test('of a database that is gone before anything was sent: that nothing was executed', () => {
    const gone = new NotExecuted('inside', { cause: new JournalUnavailable('inside') });
    const masked = mask(gone, ['createPayment']);
    expect(masked.message).toContain('executed nothing');
    expect(masked.extensions).toMatchObject({
      code: 'IDEMPOTENCY_UNAVAILABLE',
      retryable: true,
      safeToRetryWithSameKey: true,
    });
  });

  test('of one that is gone when a payment that was made is read: not that', () => {
    const masked = mask(new JournalUnavailable('inside'), ['createPayment', 'payment']);
    expect(masked.message).not.toContain('executed nothing');
    expect(masked.extensions).toMatchObject({ retryable: true, safeToRetryWithSameKey: true });
  });

  test('of a refusal: all of it, but no card number', () => {
    const refusal = new GraphQLError('found "４２４２ 4242 4242 4242"');
    const masked = maskError(
      { message: refusal.message, extensions: { code: 'BAD_USER_INPUT' } },
      refusal,
      () => {},
    );
    expect(masked.message).toBe('found "[redacted]"');
  });
});
