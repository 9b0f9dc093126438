import { randomUUID } from 'node:crypto';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The parsed body; undefined if it is not a JSON object. */
  readonly json: Record<string, unknown> | undefined;
}

export interface ChargeRequest {
  readonly reference: string;
  readonly key: string;
  readonly source?: string;
  readonly amountMinor?: number;
  readonly currency?: string;
  readonly capture?: boolean;
}

/** A reference and a key that no other test uses. */
export function fresh(): { readonly reference: string; readonly key: string } {
  return { reference: `ref-${randomUUID()}`, key: randomUUID() };
}

/** How long a loaded machine may take for what is done at once on a free one. */
export const PATIENCE = { timeout: 15_000 };

export function charge(url: string, request: ChargeRequest, signal?: AbortSignal): Promise<Answer> {
  const { reference, key, source = 'pm_ok', amountMinor = 1_050, currency = 'EUR' } = request;
  const { capture = true } = request;
  const body = { reference, amountMinor, currency, source, capture, metadata: {} };
  return send(`${url}/v1/charges`, key, body, signal);
}

/** POSTs the body; rejects if the exchange does not end properly. */
export async function send(
  address: string,
  key: string | null,
  body: unknown,
  signal: AbortSignal = AbortSignal.timeout(PATIENCE.timeout),
): Promise<Answer> {
  const response = await fetch(address, {
    method: 'POST',
    redirect: 'manual',
    headers: {
      'content-type': 'application/json',
      ...(key === null ? {} : { 'idempotency-key': key }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal,
  });
  return answerOf(response);
}

export async function operations(
  url: string,
  reference: string,
): Promise<readonly Record<string, unknown>[]> {
  const response = await fetch(`${url}/v1/operations?reference=${reference}`);
  const { data } = (await response.json()) as { data: Record<string, unknown>[] };
  return data;
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const { status, headers } = response;
  return { status, headers, text, json: parsed(text) };
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
