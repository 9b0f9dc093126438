/** Progress: not a part of what is printed. */
export const say = (line: string) => process.stderr.write(`${line}\n`);

/** Runs a bench and ends the process with its code, or 0; what it throws is one line, and code 1. */
export async function asCommand(main: () => Promise<number | undefined>): Promise<never> {
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143));
  try {
    process.exit((await main()) ?? 0);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exit(1);
  }
}
