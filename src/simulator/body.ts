import type { IncomingMessage } from 'node:http';

const MOST_BYTES = 65_536;

/**
 * The parsed JSON body; undefined if it is not JSON or too long (64 KiB). Rejects if the caller
 * leaves before its end.
 */
export function readJson(request: IncomingMessage): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MOST_BYTES) chunks.push(chunk);
    });
    request.on('end', () => resolve(length > MOST_BYTES ? undefined : parsed(chunks)));
    request.on('close', () => reject(new Error('the caller left')));
    request.on('error', reject);
  });
}

function parsed(chunks: readonly Buffer[]): unknown {
  try {
    const [first, ...more] = chunks;
    const bytes = first !== undefined && more.length === 0 ? first : Buffer.concat(chunks);
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    return undefined;
  }
}
