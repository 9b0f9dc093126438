/**
 * What the Apollo link and the urql exchange share: which mutations carry an intent, and what of
 * its outcome their clients are told.
 */
import type { PayClient } from './client.ts';
import { answers } from './intents.ts';
import type { AnyOperation } from './operation.ts';
import type { Outcome, Problem } from './outcome.ts';
import type { GraphQLBody, Transport } from './wire.ts';

type Variables = Readonly<Record<string, unknown>>;

/** A client whose store, operations and retries the link uses. */
export type Payer = PayClient<Readonly<Record<string, AnyOperation>>>;

const MARK = 'intent:';

/**
 * What to give as the key of a mutation: the link puts the intent's own key in its place. Should the
 * link be missing, the server gets this text as the key, which still is the same on every try.
 */
export function intentKey(scope: string): string {
  if (scope === '') throw new TypeError('An intent needs a scope.');
  return MARK + scope;
}

/** Nobody could be asked. `outcome.resume()` asks again with the same key; so does a new try. */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError';
  readonly outcome: Outcome<unknown, Problem> & { readonly kind: 'unknown' };

  constructor(outcome: Outcome<unknown, Problem> & { readonly kind: 'unknown' }) {
    super('It is not known whether this was done. Asking again is safe.', { cause: outcome.cause });
    this.outcome = outcome;
  }
}

/** A mutation that carries an intent. */
export interface Linked {
  readonly name: string;
  readonly scope: string;
  readonly variables: Variables;
}

/** The intent that a mutation carries, if it does. */
export function linkedOf(
  pay: Payer,
  operationName: string | undefined,
  variables: Variables,
): Linked | undefined {
  for (const [name, operation] of Object.entries(pay.operations)) {
    const { [operation.key]: key, ...rest } = variables;
    if (operation.name === operationName && typeof key === 'string' && key.startsWith(MARK)) {
      return { name, scope: key.slice(MARK.length), variables: rest };
    }
  }
  return undefined;
}

/**
 * Carries the intent through, by way of the other client's own transport.
 *
 * @returns the GraphQL answer behind the outcome; refusals as answers with `errors`
 * @throws OutcomeUnknownError if nothing final was heard
 */
export async function answerOf(
  pay: Payer,
  { name, scope, variables }: Linked,
  transport: Transport,
  signal: AbortSignal,
): Promise<GraphQLBody> {
  const outcome = await pay.run(name, variables as never, { scope, transport, signal });
  const heard = outcome as Outcome<unknown, Problem>;
  switch (heard.kind) {
    case 'unknown':
      throw new OutcomeUnknownError(heard);
    case 'blocked':
      return refused('INTENT_BLOCKED', 'An earlier request has to be settled first.', {
        unsettledKey: heard.unsettledKey,
      });
    case 'rejected':
      return answers.get(heard) ?? refused(heard.problem.code, heard.problem.message, {});
    case 'settled':
    case 'declined':
    case 'processing':
      return answers.get(heard) ?? refused('NO_ANSWER', `The outcome is "${heard.kind}".`, {});
  }
}

function refused(code: string, message: string, more: Variables): GraphQLBody {
  return { data: null, errors: [{ message, extensions: { code, ...more } }] };
}
