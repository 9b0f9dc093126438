import { z } from 'zod';
import type { Found, Outcome } from '../payments/index.ts';
import type { Reply } from './exchange.ts';

/** What to wait if the PSP does not say, and the bounds of what it may say, in ms. */
const RETRY_AFTER_MS = 1_000;
const LONGEST_RETRY_AFTER_MS = 60_000;

const known = z.object({ id: z.string().min(1).max(255), reference: z.string() });
const charge = z.discriminatedUnion('status', [
  known.extend({
    status: z.enum(['succeeded', 'expired']),
    amountMinor: z.int().positive(),
    currency: z.string().regex(/^[A-Za-z]{3}$/),
    authorizedUntil: z.iso.datetime().optional().catch(undefined),
  }),
  known.extend({
    status: z.literal('declined'),
    declineCode: z.string().nullish(),
    soft: z.boolean().nullish(),
  }),
  known.extend({ status: z.literal('pending') }),
  known.extend({
    status: z.literal('requires_action'),
    nextActionUrl: z
      .url({ protocol: /^https?$/ })
      .max(2_000)
      .optional()
      .catch(undefined),
  }),
]);
const books = z.object({ data: z.array(z.unknown()) });
const invalidRequest = z.object({ error: z.object({ code: z.literal('invalid_request') }) });

/**
 * One charge's reply → what has happened. Total: what is not a documented proof of something is
 * `unknown`, whatever its HTTP status.
 */
export function outcomeOf(reply: Reply, reference: string): Outcome {
  if (reply.kind === 'lost') {
    const { sent, reason } = reply;
    return sent ? unknown(reason) : { kind: 'notSent', reason, retryAfterMs: RETRY_AFTER_MS };
  }
  const { status, body } = reply;
  if (status === 200 || status === 201) return outcomeOfObject(body, reference);
  if (status === 429) {
    return {
      kind: 'notSent',
      reason: 'rate limited by the PSP',
      retryAfterMs: retryAfterMs(reply.retryAfter),
    };
  }
  if (status === 400 && invalidRequest.safeParse(body).success) {
    return { kind: 'rejected', code: 'invalid_request' };
  }
  return unknown(`answered with status ${status}`);
}

/**
 * One look-up's reply → what the PSP's books hold. Money that moved is what counts: a success
 * wins over anything else, then what is still open, then the newest. An object that cannot be
 * read may be a success, so that nothing but a success is believed beside it.
 */
export function foundIn(reply: Reply, reference: string): Found {
  if (reply.kind === 'lost') return { kind: 'unreachable', reason: reply.reason };
  if (reply.status !== 200) {
    return { kind: 'unreachable', reason: `answered with status ${reply.status}` };
  }
  const { data } = books.safeParse(reply.body);
  if (data === undefined) return unreadable();
  const outcomes = data.data.map((object) => outcomeOfObject(object, reference));
  const newest = outcomes.at(-1);
  if (newest === undefined) return { kind: 'none' };
  const succeeded = outcomes.find(({ kind }) => kind === 'succeeded');
  if (succeeded !== undefined) return { kind: 'found', outcome: succeeded };
  if (outcomes.some(({ kind }) => kind === 'unknown')) return unreadable();
  const open = outcomes.find(({ kind }) => kind === 'pending');
  return { kind: 'found', outcome: open ?? newest };
}

/** One object of the simulator's API, as it is answered, found and told of. */
export function outcomeOfObject(body: unknown, reference: string): Outcome {
  const { data } = charge.safeParse(body);
  if (data === undefined) return unknown('unreadable answer');
  if (data.reference !== reference) return unknown('answer about another reference');
  switch (data.status) {
    case 'succeeded':
    case 'expired':
      return {
        kind: 'succeeded',
        pspReference: data.id,
        amountMinor: data.amountMinor,
        currency: data.currency.toUpperCase(),
        ...(data.authorizedUntil === undefined
          ? {}
          : { authorizedUntil: new Date(data.authorizedUntil) }),
        ...(data.status === 'expired' ? { expired: true } : {}),
      };
    case 'declined':
      return {
        kind: 'declined',
        pspReference: data.id,
        declineCode: declineCode(data.declineCode),
        soft: data.soft === true,
      };
    case 'pending':
      return { kind: 'pending', pspReference: data.id };
    case 'requires_action':
      return data.nextActionUrl === undefined
        ? { kind: 'pending', pspReference: data.id }
        : { kind: 'pending', pspReference: data.id, nextActionUrl: data.nextActionUrl };
  }
}

/** Decline codes are shown to callers: nothing but a short word gets through. */
export function declineCode(text: string | null | undefined): string {
  return text != null && /^[a-z][a-z0-9_]{0,63}$/.test(text) ? text : 'declined';
}

/** `Retry-After` in seconds (RFC 9110 §10.2.3) → ms; a date or nonsense counts as not said. */
export function retryAfterMs(text: string | null): number {
  if (text === null || !/^\d{1,9}$/.test(text.trim())) return RETRY_AFTER_MS;
  return Math.min(Math.max(Number(text) * 1_000, RETRY_AFTER_MS), LONGEST_RETRY_AFTER_MS);
}

function unknown(reason: string): Outcome {
  return { kind: 'unknown', reason };
}

function unreadable(): Found {
  return { kind: 'unreachable', reason: 'unreadable answer' };
}
