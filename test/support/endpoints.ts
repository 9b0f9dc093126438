import { randomBytes } from 'node:crypto';
import { ask, type Reply, type Target } from './pay.ts';

export interface Endpoint {
  readonly id: string;
  readonly enabled: boolean;
  readonly disabledReason: string | null;
  readonly failingSince: string | null;
}

export interface Delivery {
  readonly id: string;
  readonly webhookId: string;
  readonly type: string;
  readonly status: string;
  readonly attemptCount: number;
  readonly nextAttemptAt: string | null;
  readonly attempts: {
    readonly nodes: readonly {
      readonly number: number;
      readonly result: string;
      readonly httpStatus: number | null;
      readonly response: string | null;
    }[];
  };
}

export const newSealingKey = (): string => randomBytes(32).toString('base64');

const ENDPOINT = 'id url enabled disabledReason failingSince eventTypes description';
const DELIVERY = `id webhookId type status attemptCount nextAttemptAt
  attempts { nodes { number result httpStatus response } }`;

/** The payload of the one field that was asked for, or a failure that shows what came instead. */
function payloadOf<T>({ body }: Reply): T {
  const [payload] = Object.values((body.data ?? {}) as Readonly<Record<string, T>>);
  if (payload === undefined) throw new Error(`no payload: ${JSON.stringify(body)}`);
  return payload;
}

const mutate = (target: Target, field: string, selection: string, input: object) => {
  const type = `${field[0]?.toUpperCase()}${field.slice(1)}Input`;
  const query = `mutation ($input: ${type}!) { ${field}(input: $input) { ${selection} } }`;
  return ask(target, query, { input });
};

export const tryCreate = (target: Target, input: object): Promise<Reply> =>
  mutate(target, 'webhookEndpointCreate', `endpoint { ${ENDPOINT} } secret`, input);

export async function createEndpoint(
  target: Target,
  url: string,
  more: object = {},
): Promise<{ endpoint: Endpoint; secret: string }> {
  return payloadOf(await tryCreate(target, { url, ...more }));
}

export const tryUpdate = (target: Target, input: object): Promise<Reply> =>
  mutate(target, 'webhookEndpointUpdate', `endpoint { ${ENDPOINT} }`, input);

export async function updateEndpoint(target: Target, input: object): Promise<Endpoint> {
  return payloadOf<{ endpoint: Endpoint }>(await tryUpdate(target, input)).endpoint;
}

export const deleteEndpoint = (target: Target, id: string): Promise<Reply> =>
  mutate(target, 'webhookEndpointDelete', 'deletedId', { id });

export const tryRotate = (target: Target, input: object): Promise<Reply> =>
  mutate(target, 'webhookEndpointRotateSecret', 'secret previousUntil', input);

export async function rotateSecret(
  target: Target,
  input: object,
): Promise<{ secret: string; previousUntil: string | null }> {
  return payloadOf(await tryRotate(target, input));
}

export const tryPing = (target: Target, id: string): Promise<Reply> =>
  mutate(target, 'webhookEndpointTest', `delivery { ${DELIVERY} }`, { id });

export async function ping(target: Target, id: string): Promise<Delivery> {
  return payloadOf<{ delivery: Delivery }>(await tryPing(target, id)).delivery;
}

export const tryRedeliver = (target: Target, id: string): Promise<Reply> =>
  mutate(target, 'webhookDeliveryRedeliver', `delivery { ${DELIVERY} }`, { id });

export async function endpoints(target: Target): Promise<readonly Endpoint[]> {
  const reply = await ask(target, `{ webhookEndpoints { nodes { ${ENDPOINT} } } }`);
  return payloadOf<{ nodes: readonly Endpoint[] }>(reply).nodes;
}

/** Newest first; null if the caller has no such endpoint. */
export async function deliveries(target: Target, id: string): Promise<readonly Delivery[] | null> {
  const query = `query ($id: ID!) { node(id: $id) {
    ... on WebhookEndpoint { deliveries { nodes { ${DELIVERY} } } } } }`;
  const { body } = await ask(target, query, { id });
  const { node } = body.data as { node: { deliveries: { nodes: readonly Delivery[] } } | null };
  return node?.deliveries.nodes ?? null;
}
