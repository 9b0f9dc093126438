import { unwrapResolverError } from '@apollo/server/errors';
import {
  GraphQLError,
  type GraphQLFormattedError,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import type { Context } from './context.ts';
import { maskError } from './mask.ts';
import { forbidden, unauthenticated } from './refusals.ts';

export interface ErrorOptions {
  /** Hides "Did you mean" and the like. */
  readonly hideSuggestions: boolean;
  /** Told of each unexpected error, with the id the client was given; it must not throw. */
  readonly onInternalError: (error: unknown, correlationId: string) => void;
}

/** @throws UNAUTHENTICATED or FORBIDDEN; anybody may ask for the schema, where that is switched on */
export function authorise(operation: OperationDefinitionNode, { caller }: Context): void {
  if (caller === undefined) {
    if (asksForSchemaOnly(operation)) return;
    throw unauthenticated();
  }
  const writes = operation.operation === OperationTypeNode.MUTATION;
  const scope = writes ? 'payments:write' : 'payments:read';
  if (!caller.scopes.has(scope)) throw forbidden(scope);
}

/** @throws BAD_REQUEST if the answers come as a stream and the request asks for one answer, or vice versa */
export function checkForm({ operation }: OperationDefinitionNode, { stream }: Context): void {
  const isSubscription = operation === OperationTypeNode.SUBSCRIPTION;
  if (isSubscription === (stream !== undefined)) return;
  const message = isSubscription
    ? 'Subscriptions are answered as server-sent events: send "Accept: text/event-stream".'
    : 'Only subscriptions are answered as server-sent events: send "Accept: application/json".';
  const extensions = { code: 'BAD_REQUEST', retryable: false, safeToRetryWithSameKey: true };
  throw new GraphQLError(message, { extensions });
}

/** What a client may read of an error: see `mask.ts`. */
export function shownError(
  formatted: GraphQLFormattedError,
  error: unknown,
  { hideSuggestions, onInternalError }: ErrorOptions,
): GraphQLFormattedError {
  const masked = maskError(formatted, unwrapResolverError(error), onInternalError);
  return hideSuggestions ? withoutSuggestion(masked) : masked;
}

/** Apollo hides what validation suggests; the coercion of variables suggests names, too. */
function withoutSuggestion(error: GraphQLFormattedError): GraphQLFormattedError {
  return { ...error, message: error.message.replace(/ ?Did you mean .*$/s, '') };
}

function asksForSchemaOnly({ selectionSet, operation }: OperationDefinitionNode): boolean {
  if (operation === OperationTypeNode.SUBSCRIPTION) return false;
  return selectionSet.selections.every(
    (selection) => selection.kind === Kind.FIELD && selection.name.value.startsWith('__'),
  );
}
