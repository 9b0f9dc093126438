export { type Caller, type Context, newContext, type Services } from './context.ts';
export { toGlobalId } from './global-id.ts';
export {
  type IdempotencyOptions,
  type IdempotentCall,
  idempotentTypeDefs,
  type Receipt,
  withIdempotency,
} from './idempotent.ts';
export { fileInPackage } from './package-files.ts';
export { buildSchema, type SchemaOptions } from './schema.ts';
export { type GraphQLAnswer, GraphQLServer, type GraphQLServerOptions } from './server.ts';
export {
  type Message,
  type StreamAnswer,
  type SubscriptionRequest,
  Subscriptions,
  type SubscriptionsOptions,
} from './subscriptions.ts';
