/**
 * A random key: a UUID (RFC 9562 §5.4), or in pages without TLS, which have no `randomUUID`, as many
 * random bits in another form.
 */
export function randomKey(): string {
  const { crypto } = globalThis;
  return crypto.randomUUID?.() ?? crypto.getRandomValues(new Uint32Array(4)).join('-');
}
