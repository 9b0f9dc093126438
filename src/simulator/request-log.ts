import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { AppendFile } from './append-file.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly reference: string | null;
  readonly idempotencyKey: string | null;
  /** ISO 8601. */
  readonly at: string;
}

const NEWLINE = 0x0a;
const COMMA = 0x2c;

/**
 * Every request under `/v1`, executed or not. It lives in a file, so that it is complete after
 * millions of requests and a restart, and costs no memory.
 */
export class RequestLog {
  readonly #file: AppendFile;

  constructor(dataDir: string) {
    this.#file = new AppendFile(join(dataDir, 'requests.jsonl'), {
      durable: false,
      onLine: (line) => JSON.parse(line),
    });
  }

  /** A disk error shows when the log is read, which then fails for good. */
  note(received: Received): void {
    this.#file.append(JSON.stringify(received)).catch(() => {});
  }

  /** The log as pieces of one JSON array, oldest first. */
  async *asJson(): AsyncGenerator<Buffer | string> {
    await this.#file.flushed();
    yield '[';
    let previous: Buffer | undefined;
    for await (const chunk of createReadStream(this.#file.path) as AsyncIterable<Buffer>) {
      if (previous !== undefined) yield previous;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at)) {
        chunk[at] = COMMA;
      }
      previous = chunk;
    }
    if (previous !== undefined) yield previous.subarray(0, -1);
    yield ']';
  }

  clear(): Promise<void> {
    return this.#file.clear();
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
