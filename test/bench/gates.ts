import postgres from 'postgres';
import type { Fault } from './faults.ts';
import type { FreshSet } from './fresh-set.ts';
import { executionsAt } from './stage.ts';

/** What one journal of ours holds at the end of a set. */
export interface Books {
  readonly system: string;
  /** Keys that got a right answer. */
  readonly paid: number;
  readonly succeeded: number;
  readonly postings: number;
  /** Entries whose postings do not sum to zero. */
  readonly unbalanced: number;
}

/** What must be true whatever the speed. */
export interface Facts {
  readonly books: readonly Books[];
  /** Executions in the PSP's books that are ours, and how many references they have. */
  readonly executions: number;
  readonly references: number;
}

/** Wrong answers of a mode that is ours. */
export interface Wrong {
  readonly mode: string;
  readonly wrong: number;
  readonly firstWrong: string | null;
}

/** References of ours are ids of entries; peers name their keys. */
const ENTRY_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7/;

/** @param paid how many keys got a right answer, by system */
export async function factsOf(set: FreshSet, paid: ReadonlyMap<string, number>): Promise<Facts> {
  const references = (await executionsAt(set.psp))
    .map(({ reference }) => reference)
    .filter((reference) => ENTRY_ID.test(reference));
  const books: Books[] = [];
  for (const [system, url] of set.journals()) {
    books.push(await booksOf(system, url, paid.get(system) ?? 0));
  }
  return { books, executions: references.length, references: new Set(references).size };
}

async function booksOf(system: string, url: string, paid: number): Promise<Books> {
  const sql = postgres(url, { max: 1 });
  const [row] = await sql<Omit<Books, 'system' | 'paid'>[]>`
    select
      (select count(*) from journal_entries where state = 'SUCCEEDED')::int as succeeded,
      (select count(*) from postings)::int as postings,
      (select count(*) from (
        select from postings group by merchant_id, entry_id
        having sum(case direction when 'DEBIT' then amount_minor else -amount_minor end) <> 0) u)::int
        as unbalanced`;
  await sql.end();
  return { system, paid, succeeded: 0, postings: 0, unbalanced: 0, ...row };
}

/** Each line is a promise that was broken. */
export function brokenIn({ books, executions, references }: Facts): readonly string[] {
  const broken: string[] = [];
  const paid = books.reduce((sum, one) => sum + one.paid, 0);
  if (references !== executions) {
    broken.push(`${executions - references} executions too many: a payment was charged again`);
  }
  if (executions !== paid) broken.push(`${paid} keys were paid, the PSP executed ${executions}`);
  for (const { system, paid, succeeded, postings, unbalanced } of books) {
    const says = (text: string) => broken.push(`${system}: ${text}`);
    if (succeeded !== paid) says(`${paid} keys were paid, ${succeeded} are in the journal`);
    if (postings !== 2 * succeeded) says(`${postings} postings of ${succeeded} payments`);
    if (unbalanced > 0) says(`the postings of ${unbalanced} entries do not sum to zero`);
  }
  return broken;
}

export function wrongAnswers(all: readonly Wrong[]): readonly string[] {
  return all
    .filter(({ wrong }) => wrong > 0)
    .map(
      ({ mode, wrong, firstWrong }) => `${mode}: ${wrong} wrong answers, the first: ${firstWrong}`,
    );
}

/** Ours must charge each key once and end it, whatever happens. Others are only reported. */
export function faultsOfOurs(faults: readonly Fault[], ours: string): readonly string[] {
  return faults
    .filter((one) => one.system === ours)
    .filter(
      ({ keys, charges, most, unanswered }) => charges !== keys || most !== 1 || unanswered > 0,
    )
    .map(
      ({ fault, keys, charges, most, unanswered }) =>
        `${fault}: ${keys} keys, ${charges} charges, at most ${most} for one, ${unanswered} without an answer`,
    );
}
