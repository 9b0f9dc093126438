import { type ChildProcess, fork, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Round, Seen } from './load.ts';

/** What the kernel counts CPU time in; 100 on every Linux. */
const TICKS_PER_S = 100;

/** CPU time of a process, of its living children and of those it has buried, in ms. Linux only. */
export function cpuMs(pid: number): number {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  let ticks = 0;
  for (const name of all) {
    const fields = statOf(name);
    if (fields === undefined) continue;
    const own = Number(name) === pid;
    if (!own && Number(fields[1]) !== pid) continue;
    const [user, system, deadUser, deadSystem] = fields.slice(11, 15).map(Number);
    ticks += (user ?? 0) + (system ?? 0);
    if (own) ticks += (deadUser ?? 0) + (deadSystem ?? 0);
  }
  return (ticks * 1_000) / TICKS_PER_S;
}

/** CPU time that all processes of the machine have used, in ms. */
export function machineCpuMs(): number {
  const [, ...fields] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(/\s+/);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = fields.map(Number);
  return ((user + nice + system + irq + softirq) * 1_000) / TICKS_PER_S;
}

function statOf(pid: string): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}

/** Runs a file of this folder and reads the JSON line it prints. */
export async function startPrinting<T>(file: string): Promise<{ child: ChildProcess; line: T }> {
  const child = spawn(process.execPath, ['--import', 'tsx', file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  for await (const text of createInterface({ input: child.stdout })) {
    return { child, line: JSON.parse(text) as T };
  }
  throw new Error(`${file} ended before it was ready.`);
}

/** The load generator as a child; one round at a time. */
export class LoadGenerator {
  readonly #child: ChildProcess;

  constructor(file: string) {
    this.#child = fork(file, { execArgv: ['--import', 'tsx'] });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  play(round: Round): Promise<Seen> {
    return new Promise((resolve, reject) => {
      this.#child.once('message', (seen: Seen | { error: string }) => {
        if ('error' in seen) reject(new Error(seen.error));
        else resolve(seen);
      });
      this.#child.send(round);
    });
  }

  stop(): void {
    this.#child.disconnect();
  }
}
