import postgres from 'postgres';

/**
 * The database refuses the statement. Says why by code and constraint only: the driver's error also
 * carries the statement, its parameters and the row, and such things do not belong in logs.
 */
export class StatementRefused extends Error {
  override readonly name = 'StatementRefused';
  /** SQLSTATE. */
  readonly code: string;
  readonly constraint: string | undefined;

  constructor({ code, constraint_name: constraint }: postgres.PostgresError) {
    super(`The database refused the statement: ${code}${constraint ? ` (${constraint})` : ''}.`);
    this.code = code;
    this.constraint = constraint;
  }
}

/** The error as it may be told: a refusal of the database, or trouble on the way to it. */
export function tellable(error: unknown): unknown {
  return error instanceof postgres.PostgresError ? new StatementRefused(error) : error;
}

/**
 * Another statement took this row's place in the journal just now. Whichever of its indexes noticed
 * it first: where a statement races its own second run, that is the primary key.
 */
export function isTaken(error: unknown): boolean {
  return error instanceof StatementRefused && PLACES.has(error.constraint ?? '');
}

const PLACES: ReadonlySet<string> = new Set([
  'journal_entries_intent',
  'journal_entries_merchant_id_id_pk',
  'journal_entries_psp_key',
]);
