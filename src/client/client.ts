import type { Attempt } from './converse.ts';
import { Intents, type Place } from './intents.ts';
import type { AnyOperation, OutcomeOf, VarsOf } from './operation.ts';
import { paramsHash } from './params.ts';
import type { IntentRecord } from './record.ts';
import { DEFAULT_RETRY, type RetryPolicy } from './retry.ts';
import type { Durability, IntentStore } from './store.ts';
import { memoryStore } from './stores/memory.ts';
import { sturdy } from './sturdy.ts';
import { type Endpoint, overFetch, type Transport } from './wire.ts';

/**
 * What is to happen once: a business thing, such as `cart:<id>:<revision>`, for which the client
 * mints and keeps the key; or a key of the caller's own, such as `stableKey('invoice', id)`.
 */
export type Intent =
  | { readonly scope: string; readonly key?: never }
  | { readonly key: string | Promise<string>; readonly scope?: never };

export type CallOptions = Intent & {
  /** Ends the waiting, not the payment: the outcome is then `unknown`. */
  readonly signal?: AbortSignal | undefined;
  readonly onAttempt?: ((event: Attempt) => void) | undefined;
  /** Sends the mutation in another way; the links of other clients are made with it. */
  readonly transport?: Transport | undefined;
};

type Operations = Readonly<Record<string, AnyOperation>>;

export interface PayClientOptions<Ops extends Operations> extends Endpoint {
  readonly operations: Ops;
  /** Memory if left out: keys then do not survive a reload. */
  readonly store?: IntentStore;
  readonly retry?: Partial<RetryPolicy>;
  readonly onAttempt?: (event: Attempt) => void;
  /** Told once if the store failed. `durability` says what is left. */
  readonly onStoreFailure?: (error: unknown) => void;
}

/** An intent whose outcome was not heard. */
export type Unsettled = Intent & {
  readonly operation: string;
  readonly idempotencyKey: string;
  readonly since: Date;
};

export interface PayClient<Ops extends Operations> {
  readonly operations: Ops;
  /** What the keys outlive; `memory` also after the store has failed. */
  readonly durability: Durability;
  /**
   * Does the intent once, however often this is called. Calls that overlap share one promise.
   *
   * @throws TypeError on misuse only: no scope, a malformed key, variables without a JSON form
   */
  run<Name extends keyof Ops & string>(
    name: Name,
    variables: VarsOf<Ops[Name]>,
    options: CallOptions,
  ): Promise<OutcomeOf<Ops[Name]>>;
  /** Finds out what became of an intent, without sending it; undefined if there is none open. */
  resume<Name extends keyof Ops & string>(
    name: Name,
    options: CallOptions,
  ): Promise<OutcomeOf<Ops[Name]> | undefined>;
  /** What may have been done without our hearing of it: for a banner, or a job's first step. */
  unsettled(): Promise<readonly Unsettled[]>;
  /** Calls back when an intent's record changes, in other tabs too where the store can tell. */
  watch(
    name: keyof Ops & string,
    intent: { readonly scope: string },
    changed: (now: IntentRecord | undefined) => void,
  ): () => void;
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/**
 * A client whose mutations happen once.
 *
 * @throws TypeError with `trustedDocuments` and a document without an id
 */
export function createPayClient<const Ops extends Operations>(
  options: PayClientOptions<Ops>,
): PayClient<Ops> {
  const { operations } = options;
  for (const { name, id, lookup } of Object.values(operations)) {
    if (options.trustedDocuments && (!id || (lookup && !lookup.id))) {
      throw new TypeError(`${name} has no id.`);
    }
  }
  const store = sturdy(options.store ?? memoryStore(), (error) => options.onStoreFailure?.(error));
  const policy = { ...DEFAULT_RETRY, ...options.retry };
  const transport = overFetch(options);
  const intents = new Intents({ store, policy, transport });

  async function placeOf(name: string, call: CallOptions): Promise<Place> {
    const operation = operations[name];
    if (operation === undefined) throw new TypeError(`No operation "${name}".`);
    const fixedKey = await call.key;
    const scope = fixedKey ?? call.scope;
    if (!scope) throw new TypeError('Give a scope or a key.');
    if (fixedKey !== undefined && !KEY.test(fixedKey)) {
      throw new TypeError('A key has 1 to 255 visible ASCII characters.');
    }
    const tell = (event: Attempt): void => {
      options.onAttempt?.(event);
      call.onAttempt?.(event);
    };
    const place = `${operation.name}${fixedKey === undefined ? ':' : '#'}${scope}`;
    return { operation, scope, place, fixedKey, tell };
  }

  return {
    operations,
    get durability() {
      return store.durability;
    },
    run: async (name, variables, call) => {
      const askedAt = Date.now();
      const place = await placeOf(name, call);
      const job = {
        ...place,
        variables: variables as Readonly<Record<string, unknown>>,
        paramsHash: paramsHash(variables),
        transport: call.transport ?? transport,
        askedAt,
      };
      return (await intents.run(job, call.signal)) as OutcomeOf<Ops[typeof name]>;
    },
    resume: async (name, call) => {
      const place = await placeOf(name, call);
      const outcome = await intents.resume(place, call.signal);
      return outcome as OutcomeOf<Ops[typeof name]> | undefined;
    },
    unsettled: async () =>
      (await store.list())
        .filter(([, { phase }]) => phase === 'sent' || phase === 'unknown')
        .map(([place, { operation, key, createdAt }]) => {
          const name = place[operation.length] === '#' ? 'key' : 'scope';
          const intent = { [name]: place.slice(operation.length + 1) } as unknown as Intent;
          return { ...intent, operation, idempotencyKey: key, since: new Date(createdAt) };
        }),
    watch: (name, { scope }, changed) => {
      return store.watch(`${operations[name]?.name}:${scope}`, changed);
    },
  };
}
