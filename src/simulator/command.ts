import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Kind } from './operation.ts';

/** One order to move money, as it came in. */
export interface Command {
  readonly kind: Kind;
  readonly idempotencyKey: string;
  readonly fingerprint: string;
  readonly reference: string;
  /** Null for a void: the whole charge. */
  readonly amountMinor: number | null;
  /** Null for a follow-up, which takes its charge's. */
  readonly currency: string | null;
  /** The payment method token; null for a follow-up. */
  readonly source: string | null;
  readonly charge: string | null;
}

const amountMinor = z.int().positive();
const reference = z.string().min(1).max(255);

const chargeBody = z.object({
  reference,
  amountMinor,
  currency: z.string().regex(/^[A-Za-z]{3}$/),
  source: z.string().min(1).max(255),
  capture: z.boolean().default(true),
  metadata: z.record(z.string(), z.unknown()).optional(),
});
const captureBody = z.object({ reference, amountMinor });
/** Of a void and of a confirmation: the whole charge. */
const voidBody = z.object({ reference });
const refundBody = z.object({ reference, charge: z.string().min(1).max(255), amountMinor });

/** What a POST path orders; the id is the charge's. */
export type Order =
  | { readonly verb: 'charge' | 'refund' }
  | { readonly verb: 'capture' | 'void' | 'confirm'; readonly charge: string };

export function orderOf(path: string): Order | undefined {
  if (path === '/v1/charges') return { verb: 'charge' };
  if (path === '/v1/refunds') return { verb: 'refund' };
  const parts = /^\/v1\/charges\/([^/]+)\/(capture|void|confirm)$/.exec(path);
  if (parts === null) return undefined;
  const verb = parts[2] as 'capture' | 'void' | 'confirm';
  return { verb, charge: parts[1] ?? '' };
}

/** The command, or undefined if the body is not what the path asks for. */
export function commandOf(
  order: Order,
  idempotencyKey: string,
  path: string,
  body: unknown,
): Command | undefined {
  const parsed = parse(order, body);
  if (parsed === undefined) return undefined;
  return { ...parsed, idempotencyKey, fingerprint: fingerprintOf(path, body) };
}

type Parsed = Omit<Command, 'idempotencyKey' | 'fingerprint'>;

function parse(order: Order, body: unknown): Parsed | undefined {
  switch (order.verb) {
    case 'charge': {
      const { data } = chargeBody.safeParse(body);
      if (data === undefined) return undefined;
      return {
        kind: data.capture ? 'charge' : 'authorize',
        reference: data.reference,
        amountMinor: data.amountMinor,
        currency: data.currency.toUpperCase(),
        source: data.source,
        charge: null,
      };
    }
    case 'refund': {
      const { data } = refundBody.safeParse(body);
      return data === undefined
        ? undefined
        : { kind: 'refund', ...data, currency: null, source: null };
    }
    case 'capture': {
      const { data } = captureBody.safeParse(body);
      return data === undefined
        ? undefined
        : { kind: 'capture', ...data, currency: null, source: null, charge: order.charge };
    }
    case 'void':
    case 'confirm': {
      const { data } = voidBody.safeParse(body);
      const nothing = { amountMinor: null, currency: null, source: null };
      return data === undefined
        ? undefined
        : { kind: order.verb, ...data, ...nothing, charge: order.charge };
    }
  }
}

/** Equal for equal JSON whatever the order of its members. */
function fingerprintOf(path: string, body: unknown): string {
  return hash('sha256', `${path}\n${JSON.stringify(body, sorted)}`, 'base64');
}

function sorted(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
