import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

const KEPT_LINES = 20;

/** The last lines a process has printed: what an error shows when the process fails. */
export class Tail {
  readonly #lines: string[] = [];
  readonly #onLine: ((line: string) => void) | undefined;

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Reads a stream to its end; an unread pipe would block the process at its other end. */
  follow(stream: Readable): void {
    createInterface({ input: stream }).on('line', (line) => {
      this.#lines.push(line);
      if (this.#lines.length > KEPT_LINES) this.#lines.shift();
      this.#onLine?.(line);
    });
  }

  includes(pattern: RegExp): boolean {
    return this.#lines.some((line) => pattern.test(line));
  }

  /** For the end of an error message: on lines of its own, or a remark that nothing was said. */
  toString(): string {
    if (this.#lines.length === 0) return ' It printed nothing.';
    return ` Its last lines:\n${this.#lines.map((line) => `  ${line}`).join('\n')}`;
  }
}
