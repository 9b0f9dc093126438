/** The namespace of these keys; drawn once, never to be changed. */
const NAMESPACE = '63f0c5d27a514e5f9a860d8b1c6e4b17';

/**
 * A key made of what identifies a piece of work, such as `('invoice', id, version)`: the same parts
 * give the same key in every run, on every machine (UUID version 5, RFC 9562 §5.5). Parts are kept
 * apart, so `('a', 'bc')` and `('ab', 'c')` differ, and so do `1` and `'1'`.
 *
 * @throws TypeError in pages without TLS, which have no SHA-1
 */
export async function stableKey(
  ...parts: readonly [string | number, ...(string | number)[]]
): Promise<string> {
  const namespace = (NAMESPACE.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16));
  const name = new TextEncoder().encode(JSON.stringify(parts));
  const bytes = Uint8Array.from([...namespace, ...name]);
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-1', bytes));
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*/, '$1-$2-$3-$4-$5');
}
