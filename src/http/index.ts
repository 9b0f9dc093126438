export type { Identified } from './credentials.ts';
export { type EndpointOptions, GraphQLEndpoint } from './graphql-endpoint.ts';
export { Limits } from './limits.ts';
export { Metrics, type OpenWork } from './metrics.ts';
export { Pages } from './pages.ts';
export { HttpServer } from './server.ts';
export { StreamEndpoint } from './stream-endpoint.ts';
export { Streams } from './streams.ts';
export {
  type Manifest,
  TRUST_MODES,
  TrustedDocuments,
  type TrustMode,
} from './trusted-documents.ts';
export { WebhookEndpoint, type WebhookEndpointOptions } from './webhook-endpoint.ts';
