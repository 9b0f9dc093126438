export { type EndpointOptions, GraphQLEndpoint, type Identified } from './graphql-endpoint.ts';
export { Limits } from './limits.ts';
export { Metrics, type OpenWork } from './metrics.ts';
export { Pages } from './pages.ts';
export { HttpServer } from './server.ts';
export {
  type Manifest,
  TRUST_MODES,
  TrustedDocuments,
  type TrustMode,
} from './trusted-documents.ts';
export { WebhookEndpoint, type WebhookEndpointOptions } from './webhook-endpoint.ts';
