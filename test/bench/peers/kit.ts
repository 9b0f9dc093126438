/**
 * What every peer needs and none is about: the same PSP, the same Postgres with one row for each
 * payment, and plain HTTP. Each peer adds only how it makes a payment happen once.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import postgres from 'postgres';
import { Pool } from 'undici';

export interface Payment {
  readonly amountMinor: number;
  readonly currency: string;
  readonly paymentMethod: string;
}

export interface Reply {
  readonly status: number;
  readonly text: string;
}

/** How long a request may hold a key before another takes it for dead, in ms. */
export const LOCK_MS = Number(process.env['LOCK_MS'] ?? 60_000);
export const ANSWER_S = 86_400;
export const REDIS_URL = process.env['REDIS_URL'] ?? '';

/** The same pool that Semel has by default. */
export const sql = postgres(process.env['DATABASE_URL'] ?? '', { max: 8, onnotice: () => {} });

const PSP_URL = process.env['SIMULATOR_URL'] ?? '';
/** With `STABLE_PSP_KEY` a repeated charge carries the same key, and the PSP does it once. */
const isStable = process.env['STABLE_PSP_KEY'] === '1';
const psp = new Pool(PSP_URL, { connections: 512, pipelining: 1 });

/** @returns the PSP's own id of the charge */
export async function charge(key: string, payment: Payment): Promise<string> {
  const { statusCode, body } = await psp.request({
    path: '/v1/charges',
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': pspKeyOf(key) },
    body: chargeBody(key, payment),
  });
  return chargeId(statusCode, await body.text());
}

export const pspKeyOf = (key: string): string => (isStable ? key : randomUUID());

export function chargeBody(reference: string, payment: Payment): string {
  const { paymentMethod: source, ...money } = payment;
  return JSON.stringify({ reference, ...money, source, metadata: {} });
}

/** @throws if the PSP did not charge */
export function chargeId(status: number, text: string): string {
  const { id } = status === 200 ? (JSON.parse(text) as { id?: string }) : {};
  if (id === undefined) throw new Error(`The PSP said ${status}.`);
  return id;
}

/** The whole work of a payment, once it is decided that it is to happen. @returns the answer */
export async function pay(key: string, payment: Payment): Promise<string> {
  const reference = await charge(key, payment);
  const { amountMinor, currency } = payment;
  const [row] = await sql`
    insert into shop_payments (idempotency_key, amount_minor, currency, psp_reference)
    values (${key}, ${amountMinor}, ${currency}, ${reference}) returning id`;
  return answerOf(row?.['id'] as string, payment);
}

export function answerOf(id: string, { amountMinor, currency }: Payment): string {
  return JSON.stringify({ id, status: 'CAPTURED', amountMinor, currency });
}

export const IN_PROGRESS: Reply = { status: 409, text: '{"error":"in progress"}' };

/** Serves `POST /pay`, the key in a header. What `handle` throws is a 500. */
export function serve(handle: (key: string, payment: Payment) => Promise<Reply>): void {
  const server = createServer((request, response) => {
    const answer = async (): Promise<Reply> => {
      const payment = JSON.parse(await textOf(request)) as Payment;
      return handle(String(request.headers['idempotency-key']), payment);
    };
    void answer()
      .catch((): Reply => ({ status: 500, text: '{"error":"failed"}' }))
      .then(({ status, text }) => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(text);
      });
  });
  server.listen(0, '127.0.0.1', () => sayReady((server.address() as AddressInfo).port));
}

export function sayReady(port: number): void {
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${port}` })}\n`);
}

function textOf(request: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    request.on('end', () => resolve(text)).on('error', reject);
  });
}
