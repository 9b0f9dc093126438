import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import type { Listener } from '../../support/proxy.ts';
import type { SendRecord } from './records.ts';

const REFERENCE = /"reference":"([\da-f-]{36})"/;

/** What servers write to the PSP, as their ways there see it; kept in a file. */
export class Sends {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
    writeFileSync(file, '');
  }

  /** Listens on the way of one server. The time of a request is that of its first byte. */
  of(server: string): Listener {
    const begun = new WeakMap<object, number>();
    return (said, connection) => {
      const text = said.toString('latin1');
      if (text.startsWith('POST /v1/')) begun.set(connection, Date.now());
      const at = begun.get(connection);
      const reference = at === undefined ? undefined : REFERENCE.exec(text)?.[1];
      if (at === undefined || reference === undefined) return;
      begun.delete(connection);
      const record: SendRecord = { at, server, reference };
      appendFileSync(this.#file, `${JSON.stringify(record)}\n`);
    };
  }

  read(): readonly SendRecord[] {
    const lines = readFileSync(this.#file, 'utf8').split('\n');
    return lines.filter(Boolean).map((line) => JSON.parse(line) as SendRecord);
  }
}
