/**
 * A random key, a UUID of version 4 (RFC 9562 §5.4). Pages without TLS have no `randomUUID`, but
 * they have random bytes; there the variant is always `a`, which leaves 120 random bits.
 */
export function randomKey(): string {
  const { crypto } = globalThis;
  return crypto.randomUUID?.() ?? uuid(crypto.getRandomValues(new Uint8Array(16)), '4', 'a');
}

/** The first 16 bytes as a UUID with these digits for version and variant. */
export function uuid(bytes: Uint8Array, version: string, variant: string): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, `$1-$2-${version}$3-${variant}$4-$5`);
}
