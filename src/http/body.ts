import type { IncomingMessage } from 'node:http';

/** The largest request body, in bytes. */
export const MAX_BODY_BYTES = 64 * 1024;

/** From the headers to the end of the body, in ms. */
const BODY_WITHIN_MS = 10_000;

/** What cannot be read is answered with this status and said in these words. */
export class BadBody extends Error {
  override readonly name = 'BadBody';
  readonly status: 400 | 408 | 413 | 415;

  constructor(status: 400 | 408 | 413 | 415, message: string) {
    super(message);
    this.status = status;
  }
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });
const UTF_8_AS_IT_IS = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const JSON_IN_UTF_8 = /^\s*application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?$/i;

/** True if the body is JSON in UTF-8, by what the header says. */
export function saysJson(contentType: string): boolean {
  return JSON_IN_UTF_8.test(contentType);
}

/** @throws BadBody if the body is too large, not UTF-8 or not JSON */
export async function readJson(request: IncomingMessage): Promise<unknown> {
  const bytes = await readBytes(request, MAX_BODY_BYTES);
  try {
    return JSON.parse(UTF_8.decode(bytes));
  } catch {
    throw new BadBody(400, 'The body is not JSON in UTF-8.');
  }
}

/** The body as it came, a byte order mark included. @throws BadBody if it is too large or not UTF-8 */
export async function readText(request: IncomingMessage, mostBytes: number): Promise<string> {
  const bytes = await readBytes(request, mostBytes);
  try {
    return UTF_8_AS_IT_IS.decode(bytes);
  } catch {
    throw new BadBody(400, 'The body is not in UTF-8.');
  }
}

function readBytes(request: IncomingMessage, mostBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const fail = (status: BadBody['status'], message: string) =>
      reject(new BadBody(status, message));
    const tooLarge = () => fail(413, `The body may have at most ${mostBytes} bytes.`);
    if (Number(request.headers['content-length'] ?? 0) > mostBytes) return tooLarge();
    const timer = setTimeout(() => {
      fail(408, `The body did not come within ${BODY_WITHIN_MS / 1_000} s.`);
    }, BODY_WITHIN_MS);
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= mostBytes) chunks.push(chunk);
      else tooLarge();
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', () => fail(400, 'The body was cut off.'));
    request.on('close', () => {
      clearTimeout(timer);
      if (!request.complete) fail(400, 'The body was cut off.');
    });
  });
}
