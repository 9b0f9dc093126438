import { hash } from 'node:crypto';
import { type Intent, intentId, type Lease } from '../idempotency/index.ts';

/** The version of the entries below. Another version's entries count as absent. */
export const FORMAT = 'semel-1';

/**
 * The name of an intent in Redis: 32 hex digits of SHA-256 over its length-prefixed text, in UTF-16,
 * which tells apart even texts that UTF-8 cannot write. Neither tenant nor key can be read from it.
 */
export function intentHash(intent: Intent): string {
  const known = hashes.get(intent);
  if (known !== undefined) return known;
  const text = Buffer.from(intentId(intent), 'utf16le');
  const made = hash('sha256', text, 'hex').slice(0, 32);
  hashes.set(intent, made);
  return made;
}

/** An intent is claimed and settled as one object. */
const hashes = new WeakMap<Intent, string>();

/** Key and channel carry the same hash tag: in a cluster they share a slot. */
export const keyOf = (hash: string): string => `semel:{${hash}}`;
export const channelOf = (hash: string): string => `semel:{${hash}}:changed`;

/** The intent's hash stands in the entry too, so that an entry copied to another key is known. */
export function heldEntry(hash: string, { token, fingerprint }: Lease): string {
  return JSON.stringify({ format: FORMAT, intent: hash, kind: 'held', token, fingerprint });
}

export function answeredEntry(hash: string, lease: Lease, answer: string): string {
  const { token, fingerprint } = lease;
  const kind = 'answered';
  return JSON.stringify({ format: FORMAT, intent: hash, kind, token, fingerprint, answer });
}

/** What every held entry of this intent starts with. */
export function heldPrefix(hash: string): string {
  return JSON.stringify({ format: FORMAT, intent: hash, kind: 'held' }).slice(0, -1);
}
