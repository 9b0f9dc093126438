import { validate as isUuid } from 'uuid';
import type { Attempt, Delivery, DeliveryKey, Endpoint, EndpointKey } from '../webhooks/index.ts';
import { fromGlobalId, toGlobalId } from './global-id.ts';
import type { Page, Place } from './page.ts';

export type EndpointPage = Page<Endpoint>;
export type EndpointPlace = Place<Endpoint>;
export type DeliveryPage = Page<Delivery>;
export type DeliveryPlace = Place<Delivery>;
export type AttemptPage = Page<Attempt>;
export type AttemptPlace = Place<Attempt>;

const ENDPOINT = 'WebhookEndpoint';
const DELIVERY = 'WebhookDelivery';

export const endpointId = (id: string): string => toGlobalId(ENDPOINT, id);

/** A delivery's own id is the event's, which every endpoint gets. */
export const deliveryId = ({ endpointId: of, id }: Pick<Delivery, 'endpointId' | 'id'>): string =>
  toGlobalId(DELIVERY, `${of}:${id}`);

/** @returns undefined if it is no global id of an endpoint */
export function endpointKey(merchantId: string, globalId: string): EndpointKey | undefined {
  const id = fromGlobalId(ENDPOINT, globalId);
  return id !== undefined && isUuid(id) ? { merchantId, id } : undefined;
}

/** @returns undefined if it is no global id of a delivery */
export function deliveryKey(merchantId: string, globalId: string): DeliveryKey | undefined {
  const [of = '', id = '', more] = (fromGlobalId(DELIVERY, globalId) ?? '').split(':');
  return isUuid(of) && isUuid(id) && more === undefined
    ? { merchantId, endpointId: of, id }
    : undefined;
}
