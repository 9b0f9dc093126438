import { randomUUID } from 'node:crypto';

/** What came back over HTTP, whole. */
export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: {
    readonly data?: unknown;
    readonly errors?: readonly {
      readonly message: string;
      readonly extensions: Readonly<Record<string, unknown>>;
    }[];
  };
}

export interface PayAnswer {
  readonly payment: { readonly id: string; readonly status: string } | null;
  readonly userErrors: readonly { readonly code: string; readonly retryAfterMs?: number }[];
  readonly idempotency: { readonly outcome: string; readonly attempt: number };
}

export interface Target {
  readonly url: string;
  readonly apiKey: string;
}

export const PAY = `
  mutation Pay($key: IdempotencyKey!, $input: CreatePaymentInput!) {
    createPayment(idempotencyKey: $key, input: $input) {
      payment { id status amount { amountMinor currency decimal } version createdAt }
      userErrors { __typename code message ... on PspUnavailable { retryAfterMs } }
      idempotency { key outcome attempt firstSeenAt answerExpiresAt }
    }
  }`;

export async function ask(
  { url, apiKey }: Target,
  query: string,
  variables: unknown = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/graphql-response+json',
      authorization: `Bearer ${apiKey}`,
      ...headers,
    },
    body: JSON.stringify({ query, variables }),
  });
  const body = (await response.json()) as Reply['body'];
  return { status: response.status, headers: response.headers, body };
}

/** Sends a body as it is written. */
export async function send(
  { url, apiKey }: Target,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply & { readonly text: string }> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/graphql-response+json',
      authorization: `Bearer ${apiKey}`,
      ...headers,
    },
    body,
  });
  const text = await response.text();
  const parsed = text.startsWith('{') ? (JSON.parse(text) as Reply['body']) : {};
  return { status: response.status, headers: response.headers, body: parsed, text };
}

export const EUR_10_50 = {
  amount: { amountMinor: 1_050, currency: 'EUR' },
  paymentMethod: 'pm_ok',
} as const;

export const freshKey = (): string => `key-${randomUUID()}`;

/** Sends `createPayment`; `more` overrides members of the input. */
export function pay(
  target: Target,
  key: string,
  more: Readonly<Record<string, unknown>> = {},
  headers: Readonly<Record<string, string>> = {},
): Promise<Reply> {
  return ask(target, PAY, { key, input: { ...EUR_10_50, ...more } }, headers);
}

/** The payload, or a failure that shows what came instead. */
export function paid(reply: Reply): PayAnswer {
  const payload = (reply.body.data as { createPayment?: PayAnswer } | null | undefined)
    ?.createPayment;
  if (payload === undefined) throw new Error(`no payload: ${JSON.stringify(reply.body)}`);
  return payload;
}

export function codeOf(reply: Reply): unknown {
  return reply.body.errors?.[0]?.extensions['code'];
}

/** Asks until the answer is right, or fails with the last one. */
export async function eventually<T>(
  look: () => Promise<T>,
  right: (seen: T) => boolean,
  withinMs = 20_000,
): Promise<T> {
  const endsAt = performance.now() + withinMs;
  for (;;) {
    const seen = await look();
    if (right(seen)) return seen;
    if (performance.now() > endsAt) throw new Error(`still: ${JSON.stringify(seen)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The status of the payment under a key, or null if there is none. */
export async function statusOf(target: Target, key: string): Promise<string | null> {
  const query = 'query($key: IdempotencyKey!) { payment(by: { idempotencyKey: $key }) { status } }';
  const { body } = await ask(target, query, { key });
  return (body.data as { payment: { status: string } | null }).payment?.status ?? null;
}
