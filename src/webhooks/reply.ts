import type { AttemptResult } from './delivery.ts';

/** What came back, or what stood in the way. */
export type Reply =
  | {
      readonly kind: 'answered';
      readonly httpStatus: number;
      readonly retryAfter: string | undefined;
      readonly body: string;
    }
  | { readonly kind: 'unanswered'; readonly result: Exclude<AttemptResult, 'DELIVERED'> };

/** What it means for the delivery and its endpoint. */
export interface Verdict {
  readonly result: AttemptResult;
  /** 410: the endpoint says that it is no more. */
  readonly isGone: boolean;
  readonly retryAfterMs: number | undefined;
}

/**
 * Delivered is what was answered with 2xx, and nothing else. Redirects are not followed: an
 * address that was never checked would get what is meant for another.
 */
export function judge(reply: Reply, now: number): Verdict {
  if (reply.kind === 'unanswered') {
    return { result: reply.result, isGone: false, retryAfterMs: undefined };
  }
  const { httpStatus, retryAfter } = reply;
  return {
    result: resultOf(httpStatus),
    isGone: httpStatus === 410,
    retryAfterMs: retryAfter === undefined ? undefined : readRetryAfter(retryAfter, now),
  };
}

function resultOf(httpStatus: number): AttemptResult {
  if (httpStatus >= 200 && httpStatus < 300) return 'DELIVERED';
  return httpStatus >= 300 && httpStatus < 400 ? 'REDIRECTED' : 'HTTP_ERROR';
}

/** Seconds or a date (RFC 9110 §10.2.3). @returns ms from now; undefined if it is neither */
function readRetryAfter(text: string, now: number): number | undefined {
  if (/^\d{1,9}$/.test(text.trim())) return Number(text) * 1_000;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
}

/** As much of an answer as is kept. */
const MOST_CHARACTERS = 500;
/** Signatures, signing secrets, keys and numbers of cards, should an endpoint repeat any. */
const SECRETS = [
  /\bv1,[A-Za-z0-9+/=]{20,}/g,
  /\bwhsec_[A-Za-z0-9+/=]+/g,
  /\bsk_[A-Za-z0-9_-]{6,}/g,
  /\bBearer\s+\S+/gi,
  /(?<!\d)\d(?:[ -]?\d){12,18}(?!\d)/g,
];

/** The beginning of what an endpoint said, as it may be kept and shown. */
export function excerpt(body: string): string {
  // Before it is cut: half a secret would not be known for one.
  const shown = SECRETS.reduce((text, secret) => text.replace(secret, '[redacted]'), body);
  return shown.replace(/\p{Cc}|\p{Cs}/gu, ' ').slice(0, MOST_CHARACTERS);
}
