import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { commandLine, endProcess, isAlive, type Step } from './processes.ts';

/** On every command line of ours, so that a found server can be told from somebody else's. */
export const MARK = 'cluster_name=semel';

/** INT: ends the sessions and writes a checkpoint. QUIT: leaves at once, recovery at next start. */
export const STOP_STEPS: readonly Step[] = [
  { signal: 'SIGINT', waitMs: 15_000 },
  { signal: 'SIGQUIT', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

/** What a Postgres server writes about itself in its data folder. */
export interface PidFile {
  readonly pid: number;
  readonly ready: boolean;
}

export function readPidFile(data: string): PidFile | undefined {
  try {
    const lines = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    const pid = Number(lines[0]);
    return pid > 0 ? { pid, ready: lines[7]?.trim() === 'ready' } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Ends a server of ours left over from an earlier life. To be called only by the folder's owner.
 * @throws if a Postgres that is not ours works on the folder
 */
export async function stopOrphan(data: string, log: (line: string) => void): Promise<void> {
  const found = readPidFile(data);
  if (found === undefined || !isAlive(found.pid)) return;
  const command = `${commandLine(found.pid)} `;
  const works = /^\S*(postgres|postmaster) /.test(command) && command.includes(` ${data} `);
  if (works && command.includes(MARK)) {
    log(`Stopping the Postgres that an earlier run left behind (pid ${found.pid}).`);
    return endProcess(found.pid, STOP_STEPS);
  }
  if (works) {
    throw new Error(
      `The data in ${data} is in use by a Postgres started by other means (pid ${found.pid}): stop it, or set DATABASE_URL to it.`,
    );
  }
  // The pid now belongs to an unrelated process, and Postgres would take that one for itself.
  rmSync(join(data, 'postmaster.pid'), { force: true });
}
