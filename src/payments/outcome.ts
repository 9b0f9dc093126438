import type { Money } from './money.ts';

/**
 * What one PSP call ended in. Total: whatever an adapter cannot match is `unknown` (P14).
 * `notSent` is a proof that nothing was executed, and the same call may be made again;
 * `rejected` is the PSP's final word that it will never execute this call.
 */
export type Outcome =
  | ({
      readonly kind: 'succeeded';
      readonly pspReference: string;
      /** Of an authorisation: until when the PSP keeps the money, if it says so. */
      readonly authorizedUntil?: Date | undefined;
      /** True if that time has passed and the money is free again. */
      readonly expired?: boolean | undefined;
    } & Money)
  | {
      readonly kind: 'declined';
      readonly pspReference: string | null;
      readonly declineCode: string;
      /** True if the same payment method may succeed later. */
      readonly soft: boolean;
    }
  | { readonly kind: 'rejected'; readonly code: string }
  | { readonly kind: 'notSent'; readonly reason: string; readonly retryAfterMs: number }
  | {
      readonly kind: 'pending';
      readonly pspReference: string | null;
      /** Where the buyer has to go before it can go on. */
      readonly nextActionUrl?: string | undefined;
    }
  | { readonly kind: 'unknown'; readonly reason: string };

/** What the PSP's books say of a reference. `none` is not final before the PSP's settling time. */
export type Found =
  | { readonly kind: 'found'; readonly outcome: Outcome }
  | { readonly kind: 'none' }
  | { readonly kind: 'unreachable'; readonly reason: string };
