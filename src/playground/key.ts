const MEMBER = /("idempotencyKey"\s*:\s*)("(?:[^"\\\n]|\\.)*")/;

/** 128 random bits in hex. `crypto.randomUUID` is missing on pages that come by plain HTTP. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The idempotency key in the text of the variables, if one is there. */
export function keyIn(variables: string): string | undefined {
  const quoted = MEMBER.exec(variables)?.[2];
  try {
    return quoted === undefined ? undefined : (JSON.parse(quoted) as string);
  } catch {
    return undefined;
  }
}

/** The same text with another key; comments and layout stay as they are. */
export function withKey(variables: string, key: string): string {
  return variables.replace(MEMBER, (_, name: string) => `${name}${JSON.stringify(key)}`);
}
