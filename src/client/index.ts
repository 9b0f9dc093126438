/** The typed client: mutations that happen once, through time-outs, double clicks and reloads. */
export {
  type CallOptions,
  createPayClient,
  type Intent,
  type PayClient,
  type PayClientOptions,
  type Unsettled,
} from './client.ts';
export type { Attempt } from './converse.ts';
export { createPayment, type PaymentProblem } from './create-payment.ts';
export { decide, type Step } from './decide.ts';
export type { TypedDocument } from './document.ts';
export {
  idempotent,
  type Lookup,
  type Operation,
  type OutcomeOf,
  type VarsOf,
} from './operation.ts';
export { type Outcome, type Problem, type Refusal, unreachable, type Verdict } from './outcome.ts';
export type { IntentRecord } from './record.ts';
export type { RetryPolicy } from './retry.ts';
export { stableKey } from './stable-key.ts';
export type { Durability, IntentStore } from './store.ts';
export { memoryStore } from './stores/memory.ts';
export type { Fetch, GraphQLBody, Reply, Transport, Try } from './wire.ts';
