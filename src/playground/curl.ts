import { asText, ENDPOINT, type Headers, type Operation, STANDARD_HEADERS } from './send.ts';

/** The operation as a command for a POSIX shell. */
export function curlOf(operation: Operation, headers: Headers, origin: string): string {
  const all = Object.entries({ ...STANDARD_HEADERS, ...asText(headers) });
  return [
    `curl -sS -i ${quoted(`${origin}${ENDPOINT}`)}`,
    ...all.map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`),
    `  --data-raw ${quoted(JSON.stringify(operation))}`,
  ].join(' \\\n');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
