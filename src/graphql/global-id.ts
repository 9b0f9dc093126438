const SEPARATOR = ':';

/** Relay's global object identification: an id that is unique over all types. */
export function toGlobalId(type: string, id: string): string {
  return Buffer.from(type + SEPARATOR + id).toString('base64url');
}

/** @returns the type's own id, or undefined if the text is no global id of this type */
export function fromGlobalId(type: string, globalId: string): string | undefined {
  const text = Buffer.from(globalId, 'base64url').toString();
  return text.startsWith(type + SEPARATOR) ? text.slice(type.length + 1) : undefined;
}
