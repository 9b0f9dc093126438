import type { Spill } from './records.ts';

/** Statements of the server's, as no log and no answer may hold them. */
const STATEMENT =
  /\b(?:insert into|update|from) (?:journal_entries|payments|postings|outbox_events)\b/i;

/** What must never be found in a log, an answer or Redis, and what of it was found. */
export class Canaries {
  readonly #secrets = new Map<string, string>();
  readonly #spills = new Map<string, Spill>();

  /** @param what how a report names it */
  plant(what: string, secret: string): void {
    this.#secrets.set(secret, what);
  }

  look(text: string, where: string): void {
    for (const what of spilledIn(text, this.#secrets)) {
      this.#spills.set(`${what} ${where}`, { what, where });
    }
  }

  get spills(): readonly Spill[] {
    return [...this.#spills.values()];
  }
}

/** The names of the secrets that a text holds. Pure. @param secrets from the secret to its name */
export function spilledIn(text: string, secrets: ReadonlyMap<string, string>): readonly string[] {
  const found = [...secrets].filter(([secret]) => text.includes(secret)).map(([, what]) => what);
  return STATEMENT.test(text) ? [...found, 'a statement'] : found;
}
