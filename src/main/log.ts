import { pino } from 'pino';

export type Log = ReturnType<typeof createLog>;

/** JSON lines on stderr; stdout belongs to what a command was asked for. */
export function createLog(level: string) {
  return pino({ level, base: null, serializers: { err: describeError } }, pino.destination(2));
}

interface Described {
  readonly name: string;
  readonly code?: string;
  readonly constraint?: string;
  readonly message?: string;
  readonly stack?: string;
  readonly cause?: Described;
}

/** SQLSTATE classes whose messages say no more than who, where and why not: no statement, no row. */
const HARMLESS = /^(28|3D|53|57)/;
const NEVER_MIGRATED = new Set(['3F000', '42P01', '42703']);

/**
 * An error for the log. Messages of the database and its libraries may hold statements and their
 * parameters: of those only the kind is told (P19).
 */
export function describeError(error: unknown): Described {
  if (!(error instanceof Error)) return { name: typeof error };
  const { message, stack, cause } = error;
  const { code, constraint_name: constraint } = error as {
    code?: unknown;
    constraint_name?: unknown;
  };
  return {
    name: nameOf(error),
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof constraint === 'string' ? { constraint } : {}),
    ...(mayBeTold(error, code) ? { message, ...(stack === undefined ? {} : { stack }) } : {}),
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}

/** One line for a terminal: what went wrong, and what to type if that is known. */
export function sayError(error: unknown): string {
  let told = describeError(error);
  while (told.message === undefined && told.cause !== undefined) told = told.cause;
  const { name, code, message } = told;
  if (message !== undefined && message !== '') return message;
  if (NEVER_MIGRATED.has(code ?? '')) return 'The database is not up to date. Run: semel migrate';
  return code === undefined ? name : `${name} ${code}`;
}

/** Drizzle's errors are named `Error` and begin with the statement. */
function nameOf(error: Error): string {
  return error.name === 'Error' ? error.constructor.name : error.name;
}

function mayBeTold(error: Error, code: unknown): boolean {
  const name = nameOf(error);
  if (name === 'PostgresError') return typeof code === 'string' && HARMLESS.test(code);
  return !name.startsWith('Drizzle') && name !== 'ReplyError';
}
