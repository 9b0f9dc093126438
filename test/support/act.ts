import { ask, freshKey, paid, pay, type Reply, type Target } from './pay.ts';

export type Verb = 'capture' | 'void' | 'refund' | 'confirm';

export interface Money {
  readonly amountMinor: number;
  readonly currency: string;
}

export interface ActAnswer {
  readonly payment: Snapshot | null;
  readonly userErrors: readonly {
    readonly __typename: string;
    readonly code: string;
    readonly maximum?: Money;
    readonly currentStatus?: string;
    readonly allowedActions?: readonly string[];
    readonly currentVersion?: number;
  }[];
  readonly idempotency: { readonly outcome: string; readonly attempt: number };
}

export interface Snapshot {
  readonly id: string;
  readonly status: string;
  readonly version: number;
  readonly allowedActions: readonly string[];
  readonly amount: Money;
  readonly authorized: Money;
  readonly captured: Money;
  readonly refunded: Money;
  readonly capturable: Money;
  readonly refundable: Money;
  readonly inDoubt: Money;
  readonly nextAction: { readonly url: string } | null;
}

const MONEY = '{ amountMinor currency }';
const SNAPSHOT = `id status version allowedActions nextAction { url }
  amount ${MONEY} authorized ${MONEY} captured ${MONEY} refunded ${MONEY}
  capturable ${MONEY} refundable ${MONEY} inDoubt ${MONEY}`;

const mutation = (verb: Verb) => {
  const name = `${verb[0]?.toUpperCase()}${verb.slice(1)}`;
  return `
  mutation ${name}($key: IdempotencyKey!, $input: ${name}PaymentInput!) {
    ${verb}Payment(idempotencyKey: $key, input: $input) {
      payment { ${SNAPSHOT} }
      userErrors {
        __typename code message
        ... on AmountLimitExceeded { maximum ${MONEY} }
        ... on InvalidState { currentStatus allowedActions }
        ... on VersionConflict { currentVersion }
      }
      idempotency { key outcome attempt }
    }
  }`;
};
const MUTATIONS = {
  capture: mutation('capture'),
  void: mutation('void'),
  refund: mutation('refund'),
  confirm: mutation('confirm'),
};

export const eur = (amountMinor: number): Money => ({ amountMinor, currency: 'EUR' });

/** Sends `capturePayment`, `voidPayment` or `refundPayment`. */
export function act(target: Target, verb: Verb, key: string, input: object): Promise<Reply> {
  return ask(target, MUTATIONS[verb], { key, input });
}

const PASSING = new Set(['PSP_UNAVAILABLE', 'OUTCOME_UNKNOWN']);
const MOST_TRIES = 60;

/** Sends again what a busy server did not do, under the same key. */
export async function busy(send: () => Promise<Reply>): Promise<Reply> {
  for (let tries = 1; ; tries += 1) {
    const reply = await send();
    const refused = reply.body.errors?.[0]?.extensions['retryable'] === true;
    if (!refused || tries === MOST_TRIES) return reply;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Sends the same request under the same key until it is decided, as a client of a busy server would. */
export async function insist(send: () => Promise<Reply>): Promise<Reply> {
  for (let tries = 1; ; tries += 1) {
    const reply = await busy(send);
    const [error] = reply.body.data ? acted(reply).userErrors : [];
    if (!PASSING.has(error?.code ?? '') || tries === MOST_TRIES) return reply;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** The payload, or a failure that shows what came instead. */
export function acted(reply: Reply): ActAnswer {
  const payload = Object.values((reply.body.data ?? {}) as Record<string, ActAnswer>)[0];
  if (payload === undefined) throw new Error(`no payload: ${JSON.stringify(reply.body)}`);
  return payload;
}

/** A payment of 100.00 EUR, unless told otherwise. @returns its id */
export async function newPayment(target: Target, more: object = {}): Promise<string> {
  const reply = await pay(target, freshKey(), { amount: eur(10_000), ...more });
  const { payment } = paid(reply);
  if (payment === null) throw new Error(`no payment: ${JSON.stringify(reply.body)}`);
  return payment.id;
}

/** The payment as it stands. */
export async function look(target: Target, id: string): Promise<Snapshot> {
  const query = `query($id: ID!) { payment(by: { id: $id }) { ${SNAPSHOT} } }`;
  const { body } = await ask(target, query, { id });
  const { payment } = (body.data ?? {}) as { payment?: Snapshot | null };
  if (!payment) throw new Error(`no payment: ${JSON.stringify(body)}`);
  return payment;
}
