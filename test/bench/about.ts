import { execFileSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { ROOT } from './children.ts';
import type { Stage } from './stage.ts';

/** Where and with what something was measured. */
export async function about(stage: Stage) {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim();
  return {
    at: new Date().toISOString(),
    commit: git('rev-parse', 'HEAD'),
    isChanged: git('status', '--porcelain') !== '',
    machine: { cpus: cpus().map(({ model }) => model), memoryMb: totalmem() / 1_048_576 },
    versions: { node: process.version, ...(await stage.version()) },
  };
}
