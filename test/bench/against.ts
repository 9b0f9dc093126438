import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makeTempDir } from '../support/temp-dir.ts';
import { ROOT } from './children.ts';
import { type System, semel } from './systems.ts';

const run = promisify(execFile);
const BUFFER = 64 * 1_024 * 1_024;

/** Another commit of Semel, built in a folder of its own. */
export interface Against {
  readonly system: System;
  readonly commit: string;
  remove(): Promise<void>;
}

/** @throws if git knows no such commit, or it cannot be installed or built */
export async function buildAgainst(ref: string, say: (line: string) => void): Promise<Against> {
  const { stdout } = await run('git', ['rev-parse', '--verify', `${ref}^{commit}`], { cwd: ROOT });
  const commit = stdout.trim();
  const folder = await makeTempDir();
  const tree = join(folder.path, 'tree');
  const remove = async () => {
    await run('git', ['worktree', 'remove', '--force', tree], { cwd: ROOT }).catch(() => {});
    await folder.remove();
  };
  try {
    await run('git', ['worktree', 'add', '--detach', tree, commit], { cwd: ROOT });
    const inTree = { cwd: tree, maxBuffer: BUFFER };
    say(`${ref}: npm ci`);
    await run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], inTree);
    say(`${ref}: npm run build`);
    await run('npm', ['run', 'build'], inTree);
  } catch (error) {
    await remove();
    throw error;
  }
  return { system: semel('against', 8, tree), commit, remove };
}
