import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const CLI = join(import.meta.dirname, '../../src/main/cli.ts');

export interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs `semel` to its end. Of this process's environment it has PATH, and nothing else.
 *
 * @param until once it has said this on stdout it gets SIGTERM
 */
export async function semel(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  until?: RegExp,
): Promise<Ended> {
  const child = spawn(process.execPath, ['--import', 'tsx', CLI, ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.out += text;
    if (until?.test(said.out)) child.kill('SIGTERM');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.err += text;
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...said };
}
