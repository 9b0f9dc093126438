import type { IncomingMessage } from 'node:http';
import type { Caller } from '../graphql/index.ts';

/** The caller, by a key that has been looked up. */
export interface Identified extends Caller {
  readonly keyId: string;
}

const BEARER = /^Bearer +([\x21-\x7e]{1,512})$/i;

/** The API key of `Authorization: Bearer <key>` (RFC 6750 §2.1); null if the header says otherwise. */
export function bearerOf(request: IncomingMessage): string | null | undefined {
  const header = request.headers.authorization;
  if (header === undefined) return undefined;
  return BEARER.exec(header)?.[1] ?? null;
}

/** The header Idempotency-Key (IETF draft-ietf-httpapi-idempotency-key-header §2.1), quoted or bare. */
export function idempotencyKeyOf(request: IncomingMessage): string | undefined {
  const header = request.headers['idempotency-key'];
  if (header === undefined) return undefined;
  const text = (Array.isArray(header) ? header.join(', ') : header).trim();
  const quoted = /^"((?:[^"\\]|\\["\\])*)"$/.exec(text)?.[1];
  return quoted === undefined ? text : quoted.replace(/\\(["\\])/g, '$1');
}
