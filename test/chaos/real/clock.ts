import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDERS = ['/usr/lib', '/usr/local/lib', '/usr/lib64'];
const FILE = 'faketime/libfaketime.so.1';
/** How long a process may go on with what it last read of its clock's file, in ms. */
export const CLOCK_SEEN_WITHIN_MS = 1_100;

/** Where libfaketime is, or undefined: then no clock can jump. */
export function findFaketime(): string | undefined {
  const candidates = FOLDERS.flatMap((folder) => {
    if (!existsSync(folder)) return [];
    const below = readdirSync(folder).filter((name) => name.endsWith('-linux-gnu'));
    return [folder, ...below.map((name) => join(folder, name))].map((one) => join(one, FILE));
  });
  return candidates.find(existsSync);
}

/** The wall clock of one process, which can be set while it runs; its monotonic clock stays real. */
export class Clock {
  readonly env: Readonly<Record<string, string>>;
  readonly #file: string;

  constructor(library: string, file: string) {
    this.#file = file;
    this.set(0);
    this.env = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** @param seconds ahead of the real time, or behind it */
  set(seconds: number): void {
    writeFileSync(this.#file, `${seconds < 0 ? '' : '+'}${seconds}\n`);
  }
}
