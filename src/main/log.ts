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

/**
 * An error for the log. Messages of the database and its libraries may hold statements and their
 * parameters: of those only the kind is told (P19).
 */
export function describeError(error: unknown): Described {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, message, stack, cause } = error;
  const { code, constraint_name: constraint } = error as {
    code?: unknown;
    constraint_name?: unknown;
  };
  const ours = name !== 'PostgresError' && !name.startsWith('Drizzle') && name !== 'ReplyError';
  return {
    name,
    ...(typeof code === 'string' ? { code } : {}),
    ...(typeof constraint === 'string' ? { constraint } : {}),
    ...(ours ? { message, ...(stack === undefined ? {} : { stack }) } : {}),
    ...(cause === undefined ? {} : { cause: describeError(cause) }),
  };
}
