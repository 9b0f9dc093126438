import type {
  QueryResolvers,
  WebhookAttemptConnectionResolvers,
  WebhookDeliveryConnectionResolvers,
  WebhookDeliveryResolvers,
  WebhookEndpointConnectionResolvers,
  WebhookEndpointResolvers,
} from '../../generated/resolvers.ts';
import { type Attempt, type Delivery, type Endpoint, webhookIdOf } from '../../webhooks/index.ts';
import { merchantOf } from '../context.ts';
import { toGlobalId } from '../global-id.ts';
import { connection, pageOf, pageRequest } from '../page.ts';
import { deliveryId, endpointId } from '../webhook-page.ts';

/** One more than was asked for tells whether there is more. */
const sliceOf = (request: ReturnType<typeof pageRequest>) => ({
  ...request,
  first: request.first + 1,
});

export const webhookEndpoints: NonNullable<QueryResolvers['webhookEndpoints']> = async (
  _source,
  args,
  context,
) => {
  const request = pageRequest(args);
  const { endpoints } = context.services;
  return pageOf(request, await endpoints.page(merchantOf(context), sliceOf(request)));
};

export const WebhookEndpoint: WebhookEndpointResolvers = {
  id: ({ id }) => endpointId(id),
  enabled: ({ disabledReason }) => disabledReason === null,
  deliveries: async (endpoint, args, { services }) => {
    const request = pageRequest(args);
    return pageOf(request, await services.endpoints.deliveries(endpoint, sliceOf(request)));
  },
};

export const WebhookDelivery: WebhookDeliveryResolvers = {
  id: deliveryId,
  webhookId: (delivery) => webhookIdOf(delivery, toGlobalId),
  endpoint: async (delivery, _args, { endpoints }) =>
    (await endpoints.load(delivery.endpointId)) ?? null,
  attemptCount: ({ attempts }) => attempts,
  nextAttemptAt: ({ status, nextAttemptAt }) => (status === 'PENDING' ? nextAttemptAt : null),
  attempts: async (delivery, args, { services }) => {
    const request = pageRequest(args);
    return pageOf(request, await services.endpoints.attempts(delivery, sliceOf(request)));
  },
};

export const WebhookEndpointConnection: WebhookEndpointConnectionResolvers = connection<Endpoint>();
export const WebhookDeliveryConnection: WebhookDeliveryConnectionResolvers = connection<Delivery>();
export const WebhookAttemptConnection: WebhookAttemptConnectionResolvers = connection<Attempt>();
