import type { PaymentAnswer } from '../payments/index.ts';
import type { Receipt } from './idempotent.ts';

/** What the payload of a money mutation is made of: the answer that is kept, and this call's receipt. */
export interface Answered extends PaymentAnswer {
  readonly receipt: Receipt;
}
