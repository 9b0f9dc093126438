import { closeSync, createReadStream, openSync, writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Merchant } from './places.ts';
import type { Ask, Event, Field, Heard } from './records.ts';
import type { Canaries } from './secrets.ts';

const INPUTS: Readonly<Record<Exclude<Field, 'cancelByIdempotencyKey'>, string>> = {
  createPayment: 'CreatePaymentInput',
  capturePayment: 'CapturePaymentInput',
  voidPayment: 'VoidPaymentInput',
  refundPayment: 'RefundPaymentInput',
  confirmPayment: 'ConfirmPaymentInput',
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

/**
 * Everything that clients ask and hear and what was done to the world, in the order in which it
 * happened to them: a line each in a file, so that nothing of it is lost with this process.
 */
export class History {
  readonly file: string;
  readonly #descriptor: number;
  #asked = 0;

  constructor(file: string) {
    this.file = file;
    this.#descriptor = openSync(file, 'a');
  }

  note(what: string): void {
    this.add({ kind: 'note', at: Date.now(), what });
  }

  begin(ask: Omit<Ask, 'kind' | 'id' | 'at'>): Ask {
    this.#asked += 1;
    const noted: Ask = { kind: 'ask', id: this.#asked, at: Date.now(), ...ask };
    this.add(noted);
    return noted;
  }

  end(id: number, heard: Heard): void {
    this.add({ kind: 'told', id, at: Date.now(), heard });
  }

  add(event: Event): void {
    writeSync(this.#descriptor, `${JSON.stringify(event)}\n`);
  }

  /** All of it so far. */
  read(): Promise<readonly Event[]> {
    return readHistory(this.file);
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

/** The history in a file, in the order in which it was written. */
export async function readHistory(file: string): Promise<readonly Event[]> {
  const lines = createInterface({ input: createReadStream(file) });
  const events: Event[] = [];
  for await (const line of lines) events.push(JSON.parse(line) as Event);
  return events;
}

export interface Request {
  readonly merchant: Merchant;
  readonly key: string;
  readonly field: Field;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Where a client asks, and what no answer may hold. */
export interface Door {
  readonly name: string;
  readonly url: string;
}

/** Sends one request, once, and writes down both ends of it. @param patienceMs when it hangs up */
export async function send(
  { history, canaries }: { readonly history: History; readonly canaries: Canaries },
  door: Door,
  { merchant, key, field, input }: Request,
  patienceMs: number,
): Promise<Heard> {
  const ask = { merchantId: merchant.id, key, field, input, server: door.name };
  const { id } = history.begin(ask);
  const variables = field === 'cancelByIdempotencyKey' ? { key, ...input } : { key, input };
  const call = { query: documentFor(field), variables };
  const heard = await exchange(door.url, merchant.apiKey, call, patienceMs, (text) =>
    canaries.look(text, `an answer of ${door.name}`),
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
  call: object,
  patienceMs: number,
  onText: (text: string) => void,
): Promise<Heard> {
  try {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
      body: JSON.stringify(call),
      signal: AbortSignal.timeout(patienceMs),
    });
    const text = await response.text();
    onText(text);
    return heardIn(response.status, JSON.parse(text) as Body);
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
