/**
 * A digest by which a client sees that parameters have changed. Null equals omitted, as at the
 * server. It needs no cryptography: if two parameters should ever share it, the server, which
 * compares with SHA-256, refuses the second; and a short digest gives less away.
 *
 * @throws TypeError if the parameters have no JSON form
 */
export function paramsHash(parameters: unknown): string {
  let hash = 0x811c9dc5;
  for (const char of JSON.stringify(parameters, ordered)) {
    hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), 0x01000193);
  }
  return (hash >>> 0).toString(36);
}

function ordered(_name: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member != null);
  return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)));
}
