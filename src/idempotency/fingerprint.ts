import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';

/** The version of the rule below; it is kept with every fingerprint. */
export const FINGERPRINT_VERSION = 1;

/**
 * The digest of what was asked: SHA-256 over the canonical JSON (RFC 8785) of the operation and its
 * arguments. The arguments are coerced and normalised, without the key; object members that are
 * null or undefined must have been left out by the caller (null equals omitted). Text is compared
 * as sent: RFC 8785 §3.1 forbids Unicode normalisation.
 *
 * @returns `<version>:<operation>:<digest in base64url>`
 * @throws if the arguments hold something JSON cannot say (NaN, a lone surrogate, a cycle)
 */
export function fingerprint(operation: string, args: Readonly<Record<string, unknown>>): string {
  const text = canonicalize({ operation, arguments: args });
  if (text === undefined) throw new TypeError('The arguments have no canonical JSON form.');
  return `${FINGERPRINT_VERSION}:${operation}:${hash('sha256', text, 'base64url')}`;
}

/** The parts of a fingerprint. */
export function readFingerprint(text: string): {
  version: number;
  operation: string;
  digest: Buffer;
} {
  const [version = '', operation = '', digest = ''] = text.split(':');
  return { version: Number(version), operation, digest: Buffer.from(digest, 'base64url') };
}
