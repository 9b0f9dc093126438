import {
  asText,
  ENDPOINT,
  type Headers,
  isSubscription,
  type Operation,
  STANDARD_HEADERS,
  STREAM_HEADERS,
} from './send.ts';

/** The operation as a command for a POSIX shell. */
export function curlOf(operation: Operation, headers: Headers, origin: string): string {
  const isStream = isSubscription(operation);
  const standard = isStream ? STREAM_HEADERS : STANDARD_HEADERS;
  const all = Object.entries({ ...standard, ...asText(headers) });
  return [
    `curl -sS -i ${isStream ? '-N ' : ''}${quoted(`${origin}${ENDPOINT}`)}`,
    ...all.map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`),
    `  --data-raw ${quoted(JSON.stringify(operation))}`,
  ].join(' \\\n');
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
