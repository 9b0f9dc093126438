export type { GraphQLAnswer } from './answer.ts';
export { type Caller, Context, type Services } from './context.ts';
export { toGlobalId } from './global-id.ts';
export {
  type IdempotencyOptions,
  type IdempotentCall,
  idempotentTypeDefs,
  type Receipt,
  withIdempotency,
} from './idempotent.ts';
export { fileInPackage } from './package-files.ts';
export type { GraphQLServerOptions } from './request.ts';
export { buildSchema, type SchemaOptions } from './schema.ts';
export { GraphQLServer } from './server.ts';
export {
  type Message,
  type StreamAnswer,
  type SubscriptionRequest,
  Subscriptions,
  type SubscriptionsOptions,
} from './subscriptions.ts';
