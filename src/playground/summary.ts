/** The gist of an answer, for a line beside it. */
export interface Summary {
  /** An outcome such as REPLAYED, the code of a refusal, or OK. */
  readonly word: string;
  readonly tone: 'done' | 'again' | 'doubt' | 'refused';
  /** Where the payment stands, if one was answered. */
  readonly status: string | undefined;
  readonly paymentId: string | undefined;
}

const TONES: Readonly<Record<string, Summary['tone']>> = {
  EXECUTED: 'done',
  REPLAYED: 'again',
  JOINED: 'again',
  IN_DOUBT: 'doubt',
};

export function summaryOf(body: unknown): Summary {
  const code = text(body, 'errors', 0, 'extensions', 'code');
  const field = firstField(body);
  const outcome = text(field, 'idempotency', 'outcome');
  const status = text(field, 'payment', 'status') ?? text(field, 'state') ?? text(field, 'status');
  const paymentId = text(field, 'payment', 'id') ?? text(field, 'id');
  if (typeof body === 'string' || at(body, 'errors') !== undefined) {
    return { word: code ?? 'ERROR', tone: 'refused', status, paymentId };
  }
  return { word: outcome ?? 'OK', tone: TONES[outcome ?? ''] ?? 'done', status, paymentId };
}

function firstField(body: unknown): unknown {
  const data = at(body, 'data');
  return typeof data === 'object' && data !== null ? Object.values(data)[0] : undefined;
}

function text(value: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : undefined;
}

function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, name) =>
      typeof inner === 'object' && inner !== null
        ? (inner as Record<string | number, unknown>)[name]
        : undefined,
    value,
  );
}
