import type { PspEvent } from '../payments/index.ts';

/** What came to a webhook's address, once its signature has been judged. */
export type Webhook =
  | ({ readonly kind: 'event' } & PspEvent)
  /** Its signature is missing, wrong or too old. */
  | { readonly kind: 'forged' }
  /** Signed by the PSP, and not about an operation of ours. */
  | { readonly kind: 'ignored'; readonly eventId: string; readonly type: string };

/** Judges and reads a webhook: the body as it came, header names in lower case. Never throws. */
export type ReadWebhook = (
  rawBody: string,
  headers: Readonly<Record<string, string | undefined>>,
) => Webhook;
