import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 10;

/**
 * True if a process with this pid runs. A zombie (dead, not yet collected by its parent) counts as
 * dead: it holds no file and answers no signal.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return linuxStat(pid)?.[0] !== 'Z';
}

/**
 * When the process started, as an opaque text to compare for equality: pid and start together name
 * one process for good, a pid alone may be given to another later. Undefined if it is gone, or if
 * the system does not tell.
 */
export function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? linuxStat(pid)?.[19] : ps(pid, 'lstart=');
}

/** The command and its arguments, separated by spaces; empty if the process is gone. */
export function commandLine(pid: number): string {
  if (process.platform !== 'linux') return ps(pid, 'command=') ?? '';
  return (readProc(pid, 'cmdline') ?? '').split('\0').join(' ').trim();
}

export interface Step {
  readonly signal: NodeJS.Signals;
  /** How long the process has to end after this signal before the next, harder one is sent. */
  readonly waitMs: number;
}

/**
 * Ends a process, politely first. Ending one that is gone already is no error.
 * @throws if it survives the last step
 */
export async function endProcess(pid: number, steps: readonly Step[]): Promise<void> {
  for (const { signal, waitMs } of steps) {
    if (!send(pid, signal)) return;
    const deadline = Date.now() + waitMs;
    while (Date.now() < deadline) {
      if (!isAlive(pid)) return;
      await sleep(POLL_MS);
    }
  }
  if (isAlive(pid)) throw new Error(`Process ${pid} does not end, not even by SIGKILL.`);
}

/** False if there is no such process any more. */
function send(pid: number, signal: NodeJS.Signals): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}

/** The fields of /proc/PID/stat from the state on; the command before it may hold any character. */
function linuxStat(pid: number): string[] | undefined {
  const stat = readProc(pid, 'stat');
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}

function ps(pid: number, column: string): string | undefined {
  try {
    const env = { PATH: process.env['PATH'] ?? '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' };
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    const args = ['-ww', '-o', column, '-p', String(pid)];
    return execFileSync('ps', args, { env, stdio, encoding: 'utf8' }).trim() || undefined;
  } catch {
    return undefined;
  }
}
