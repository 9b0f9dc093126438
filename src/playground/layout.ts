/** How many levels of objects get a line for each member; the editor of the variables is small. */
const BROKEN_LEVELS = 2;

/** JSON for the editor of the variables: the outer levels in lines, what lies deeper in one line. */
export function laidOut(value: unknown, level = 0): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return JSON.stringify(value);
  }
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}: ${laidOut(member, level + 1)}`,
  );
  if (members.length === 0) return '{}';
  if (level >= BROKEN_LEVELS) return `{ ${members.join(', ')} }`;
  const indent = '  '.repeat(level);
  return `{\n${members.map((member) => `${indent}  ${member}`).join(',\n')}\n${indent}}`;
}
