export * from './allowed.ts';
export { answerOf, type Decision, type Ended, isFinal, type PaymentAnswer } from './answer.ts';
export {
  type CancelDeps,
  type CancelIntent,
  type CancelJournal,
  type CancelOpened,
  cancelIntent,
} from './cancel-intent.ts';
export {
  type Conclusion,
  concludeFound,
  concludeSend,
  concludeTakenReference,
  statusAfter,
} from './conclude.ts';
export { createPayment, lookUpPayment } from './create-payment.ts';
export { activeCurrencies, type CurrencyStanding, exponentOf, standing } from './currencies.ts';
export * from './events.ts';
export { type ExpireDeps, type Expiries, type ExpiryReport, expireOnce } from './expire.ts';
export { type FollowUpDeps, followUp } from './follow-up.ts';
export {
  type HearDeps,
  type Heard,
  hearEvent,
  type Inbox,
  type Kept,
  type Letter,
  resultOf,
  type Target,
} from './hear-event.ts';
export * from './ledger.ts';
export { decimal, MAX_AMOUNT_MINOR, type Money } from './money.ts';
export * from './orders.ts';
export type { Found, Outcome } from './outcome.ts';
export * from './payment.ts';
export * from './ports.ts';
export { type PspEvent, type Reaction, reactTo } from './react.ts';
export { type RecoveryReport, type ResolveDeps, recoverOnce } from './resolve-doubt.ts';
export { type Reversals, type ReverseDeps, reverseLate } from './reverse-late.ts';
export { NothingSent, type SendDeps as CreatePaymentDeps } from './send.ts';
