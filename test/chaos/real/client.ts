import type { Ask, Event, Field, Heard } from './records.ts';
import type { Server } from './server.ts';
import type { Merchant } from './world.ts';

const INPUTS: Readonly<Record<Exclude<Field, 'cancelByIdempotencyKey'>, string>> = {
  createPayment: 'CreatePaymentInput',
  capturePayment: 'CapturePaymentInput',
  voidPayment: 'VoidPaymentInput',
  refundPayment: 'RefundPaymentInput',
};
const PAYLOAD = `{ payment { id status }
  userErrors { code ... on PaymentDeclined { declineCode } } idempotency { outcome } }`;
const CANCEL = `mutation($key: IdempotencyKey!, $cancels: IdempotencyKey!) {
  cancelByIdempotencyKey(key: $cancels, idempotencyKey: $key) ${PAYLOAD} }`;

function documentFor(field: Field): string {
  if (field === 'cancelByIdempotencyKey') return CANCEL;
  return `mutation($key: IdempotencyKey!, $input: ${INPUTS[field]}!) {
    ${field}(idempotencyKey: $key, input: $input) ${PAYLOAD} }`;
}

/** Everything that clients ask and hear, in the order in which it happens to them. */
export class History {
  readonly events: Event[] = [];
  #asked = 0;

  note(what: string): void {
    this.events.push({ kind: 'struck', at: Date.now(), what });
  }

  begin(ask: Omit<Ask, 'kind' | 'id' | 'at'>): Ask {
    this.#asked += 1;
    const noted: Ask = { kind: 'ask', id: this.#asked, at: Date.now(), ...ask };
    this.events.push(noted);
    return noted;
  }

  end(id: number, heard: Heard): void {
    this.events.push({ kind: 'told', id, at: Date.now(), heard });
  }
}

export interface Request {
  readonly merchant: Merchant;
  readonly key: string;
  readonly field: Field;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Sends one request, once, and writes down both ends of it. @param patienceMs when it hangs up */
export async function send(
  history: History,
  server: Server,
  { merchant, key, field, input }: Request,
  patienceMs: number,
): Promise<Heard> {
  const ask = { merchantId: merchant.id, key, field, input, server: server.name };
  const { id } = history.begin(ask);
  const variables = field === 'cancelByIdempotencyKey' ? { key, ...input } : { key, input };
  const heard = await exchange(
    server.url,
    merchant.apiKey,
    documentFor(field),
    variables,
    patienceMs,
  );
  history.end(id, heard);
  return heard;
}

interface Body {
  readonly data?: Readonly<Record<string, Payload>> | null;
  readonly errors?: readonly { readonly extensions: { readonly code: string } }[];
}

interface Payload {
  readonly payment: { readonly id: string; readonly status: string } | null;
  readonly userErrors: readonly { readonly code: string; readonly declineCode?: string }[];
  readonly idempotency: { readonly outcome: string };
}

async function exchange(
  url: string,
  apiKey: string,
  query: string,
  variables: object,
  patienceMs: number,
): Promise<Heard> {
  try {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify({ query, variables }),
      signal: AbortSignal.timeout(patienceMs),
    });
    return heardIn(response.status, (await response.json()) as Body);
  } catch (error) {
    return { kind: 'broken', why: String((error as Error).cause ?? error).slice(0, 120) };
  }
}

function heardIn(status: number, { data, errors }: Body): Heard {
  const payload = Object.values(data ?? {})[0];
  if (!payload) {
    return { kind: 'refused', status, code: errors?.[0]?.extensions.code ?? 'no code' };
  }
  const { payment, userErrors, idempotency } = payload;
  return {
    kind: 'answered',
    outcome: idempotency.outcome,
    error: userErrors[0]?.code ?? null,
    declineCode: userErrors[0]?.declineCode ?? null,
    paymentId: payment === null ? null : ownId(payment.id),
    status: payment?.status ?? null,
    ...(errors?.[0] === undefined ? {} : { partly: errors[0].extensions.code }),
  };
}

function ownId(globalId: string): string {
  return Buffer.from(globalId, 'base64url').toString().slice('Payment:'.length);
}
