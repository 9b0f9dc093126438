import type { MutationResolvers } from '../../generated/resolvers.ts';
import type { Desk, EndpointKey } from '../../webhooks/index.ts';
import { checkTexts } from '../arguments.ts';
import { type Context, merchantOf } from '../context.ts';
import { badInput, webhooksNotConfigured } from '../refusals.ts';
import { deliveryKey, endpointId, endpointKey } from '../webhook-page.ts';

const MOST = { description: 255, types: 50, type: 100 } as const;
const TYPE = /^[a-z_]+\.(?:[a-z_]+|\*)$/;

const NO_ENDPOINT = 'is the id of no endpoint of yours';
const NOT_NOW = 'is not there, or its endpoint is disabled: enable it first';

function deskOf({ services }: Context): Desk {
  if (services.desk === undefined) throw webhooksNotConfigured();
  return services.desk;
}

function keyOf(context: Context, id: string): EndpointKey {
  const key = endpointKey(merchantOf(context), id);
  if (key === undefined) throw badInput('input.id', NO_ENDPOINT);
  return key;
}

function checkDescription(description: string | null | undefined): void {
  checkTexts(description, 'input.description');
  if ((description?.length ?? 0) > MOST.description) {
    throw badInput('input.description', `may have at most ${MOST.description} characters`);
  }
}

function checkTypes(types: readonly string[] | null | undefined): void {
  if (types === null || types === undefined) return;
  const path = 'input.eventTypes';
  if (types.length === 0 || types.length > MOST.types) {
    throw badInput(path, `must have 1 to ${MOST.types} types, or be left out for all`);
  }
  if (!types.every((type) => type.length <= MOST.type && TYPE.test(type))) {
    throw badInput(path, 'must have types such as "charge.succeeded" or "refund.*"');
  }
}

/** As it will be kept: one place is written in one way only. */
function checkedUrl(desk: Desk, text: string): string {
  checkTexts(text, 'input.url');
  const problem = desk.urlProblem(text);
  if (problem !== undefined) throw badInput('input.url', problem);
  return new URL(text).href;
}

const taken = (id: string) => badInput('input.url', `has an endpoint already: ${endpointId(id)}`);

/** Nothing of this moves money: what was wrong with the request is an error, and nothing was done. */
export const webhookMutations = {
  webhookEndpointCreate: async (_source, { input }, context) => {
    const merchantId = merchantOf(context);
    const desk = deskOf(context);
    checkDescription(input.description);
    checkTypes(input.eventTypes);
    const url = checkedUrl(desk, input.url);
    const { description = null, eventTypes = null } = input;
    const created = await desk.create({ merchantId, url, description, eventTypes });
    switch (created.kind) {
      case 'created':
        return { endpoint: created.endpoint, secret: created.secret };
      case 'url-taken':
        throw taken(created.id);
      case 'too-many':
        throw badInput('input', `is one too many: a merchant may have ${created.most} endpoints`);
    }
  },

  webhookEndpointUpdate: async (_source, { input }, context) => {
    const desk = deskOf(context);
    const key = keyOf(context, input.id);
    const { url, description, eventTypes, enabled } = input;
    checkDescription(description);
    checkTypes(eventTypes);
    if (url === null) throw badInput('input.url', 'may be left out, but not taken away');
    const changed = await desk.change(key, {
      ...(url === undefined ? {} : { url: checkedUrl(desk, url) }),
      ...(description === undefined ? {} : { description }),
      ...(eventTypes === undefined ? {} : { eventTypes }),
      ...(typeof enabled === 'boolean' ? { enabled } : {}),
    });
    switch (changed.kind) {
      case 'changed':
        return { endpoint: changed.endpoint };
      case 'url-taken':
        throw taken(changed.id);
      case 'none':
        throw badInput('input.id', NO_ENDPOINT);
    }
  },

  webhookEndpointDelete: async (_source, { input }, context) => {
    const removed = await deskOf(context).remove(keyOf(context, input.id));
    if (!removed) throw badInput('input.id', NO_ENDPOINT);
    return { deletedId: input.id };
  },

  webhookEndpointRotateSecret: async (_source, { input }, context) => {
    const { id, revokePrevious } = input;
    const rotated = await deskOf(context).rotate(keyOf(context, id), revokePrevious === true);
    switch (rotated.kind) {
      case 'rotated': {
        const { endpoint, secret, previousUntil } = rotated;
        return { endpoint, secret, previousUntil: revokePrevious ? null : previousUntil };
      }
      case 'too-many':
        throw badInput('input.id', `has ${rotated.most} secrets that sign: wait, or revoke them`);
      case 'none':
        throw badInput('input.id', NO_ENDPOINT);
    }
  },

  webhookEndpointTest: async (_source, { input }, context) => {
    const delivery = await deskOf(context).ping(keyOf(context, input.id));
    if (delivery === undefined) throw badInput('input.id', NOT_NOW);
    return { delivery };
  },

  webhookDeliveryRedeliver: async (_source, { input }, context) => {
    const key = deliveryKey(merchantOf(context), input.id);
    const delivery = key === undefined ? undefined : await deskOf(context).redeliver(key);
    if (delivery === undefined) throw badInput('input.id', NOT_NOW);
    return { delivery };
  },
} satisfies MutationResolvers;
