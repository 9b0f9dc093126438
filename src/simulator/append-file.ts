import {
  closeSync,
  fdatasync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';

const CHUNK_BYTES = 1 << 20;
const NEWLINE = 0x0a;

interface Batch {
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

export interface AppendFileOptions {
  /** True: an append is done only after `fdatasync`. False: once the operating system has it. */
  readonly durable: boolean;
  /** Called for each line that was there, oldest first; a throw means the line is damaged. */
  readonly onLine: (line: string) => void;
}

/**
 * A file of lines that only grows. Appends made while a flush runs share the next one (group
 * commit), so a thousand charges cost a handful of disk flushes.
 */
export class AppendFile {
  readonly path: string;
  readonly #fd: number;
  readonly #durable: boolean;
  #text = '';
  #next: Batch | undefined;
  #current: Batch | undefined;
  #broken: Error | undefined;

  /**
   * Reads what is there. A torn or damaged last line was never acknowledged and is cut off;
   * damage anywhere else throws.
   */
  constructor(path: string, { durable, onLine }: AppendFileOptions) {
    this.path = path;
    this.#durable = durable;
    this.#fd = openSync(path, 'a+', 0o600);
    try {
      ftruncateSync(this.#fd, readLines(this.#fd, path, onLine));
      if (durable) syncFolder(dirname(path));
    } catch (error) {
      closeSync(this.#fd);
      throw error;
    }
  }

  /** Settles when the line is as safe as this file promises; rejects for good after a disk error. */
  append(line: string): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    this.#text += `${line}\n`;
    if (this.#next === undefined) {
      this.#next = newBatch();
      if (this.#current === undefined) setImmediate(this.#flush);
    }
    return this.#next.done;
  }

  /** Settles when everything appended so far is safe. */
  flushed(): Promise<void> {
    if (this.#broken !== undefined) return Promise.reject(this.#broken);
    return (this.#next ?? this.#current)?.done ?? Promise.resolve();
  }

  /** Empties the file between two flushes, and calls `onEmpty` in the same breath. */
  async clear(onEmpty?: () => void): Promise<void> {
    while (this.#next !== undefined || this.#current !== undefined) await this.flushed();
    ftruncateSync(this.#fd, 0);
    onEmpty?.();
    if (this.#durable) fsyncSync(this.#fd);
  }

  async close(): Promise<void> {
    try {
      while (this.#next !== undefined || this.#current !== undefined) await this.flushed();
    } finally {
      this.#broken ??= new Error('the file is closed');
      closeSync(this.#fd);
    }
  }

  readonly #flush = (): void => {
    const batch = this.#next;
    if (batch === undefined || this.#broken !== undefined) return;
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    this.#next = undefined;
    this.#current = batch;
    try {
      for (let sent = 0; sent < bytes.length; ) sent += writeSync(this.#fd, bytes, sent);
    } catch (error) {
      this.#break(error as Error);
      return;
    }
    if (this.#durable) fdatasync(this.#fd, this.#flushDone);
    else this.#flushDone(null);
  };

  readonly #flushDone = (error: Error | null): void => {
    if (error !== null) {
      this.#break(error);
      return;
    }
    this.#current?.resolve();
    this.#current = undefined;
    if (this.#next !== undefined) this.#flush();
  };

  /** After a failed write or flush nobody knows what the disk holds: no append may succeed again. */
  #break(error: Error): void {
    this.#broken = error;
    this.#current?.reject(error);
    this.#next?.reject(error);
    this.#current = undefined;
    this.#next = undefined;
  }
}

function newBatch(): Batch {
  let resolve: () => void = () => {};
  let reject: (error: Error) => void = () => {};
  const done = new Promise<void>((onDone, onError) => {
    resolve = onDone;
    reject = onError;
  });
  done.catch(() => {});
  return { done, resolve, reject };
}

/** Hands over each whole line and returns the length in bytes of the undamaged part. */
function readLines(fd: number, path: string, onLine: (line: string) => void): number {
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let rest: Buffer = Buffer.alloc(0);
  let good = 0;
  let damage: Error | undefined;
  for (let position = 0; ; ) {
    const count = readSync(fd, chunk, 0, CHUNK_BYTES, position);
    if (count === 0) return good;
    position += count;
    const bytes = Buffer.concat([rest, chunk.subarray(0, count)]);
    let start = 0;
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
      if (damage !== undefined) throw damage;
      try {
        onLine(bytes.toString('utf8', start, end));
        good += end + 1 - start;
      } catch (cause) {
        damage = new Error(`${path} is damaged at byte ${good}`, { cause });
      }
      start = end + 1;
    }
    rest = bytes.subarray(start);
  }
}

/** The name of a new file is only safe once its folder is. */
function syncFolder(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
