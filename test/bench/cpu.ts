import { readdirSync, readFileSync } from 'node:fs';

/** What the kernel counts CPU time in; 100 on every Linux. */
const TICKS_PER_S = 100;

interface Used {
  readonly parent: number;
  readonly own: number;
  /** Of the children it has buried, and theirs. */
  readonly buried: number;
}

/** CPU time of the machine and of every process at one moment, in ms. All zero where there is no `/proc`. */
export class CpuClock {
  readonly machineMs: number;
  readonly #processes: ReadonlyMap<number, Used>;

  constructor() {
    this.machineMs = machineMs();
    const pids = namesIn('/proc').filter((name) => /^\d+$/.test(name));
    this.#processes = new Map(
      pids.flatMap((name) => {
        const used = usedBy(name);
        return used === undefined ? [] : [[Number(name), used] as const];
      }),
    );
  }

  /** Of a process, its living children and those it has buried: a Postgres with its sessions. */
  familyMs(pid: number): number {
    let sum = this.aloneMs(pid);
    for (const { parent, own } of this.#processes.values()) if (parent === pid) sum += own;
    return sum;
  }

  /** Of a process and the children it has buried. */
  aloneMs(pid: number): number {
    const used = this.#processes.get(pid);
    return used === undefined ? 0 : used.own + used.buried;
  }
}

/** What a process keeps in memory now, in MB; 0 if it is not there. */
export function rssMb(pid: number): number {
  const text = read(`/proc/${pid}/status`) ?? '';
  return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? 0) / 1_024;
}

function usedBy(pid: string): Used | undefined {
  const text = read(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [user = 0, system = 0, deadUser = 0, deadSystem = 0] = fields.slice(11, 15).map(Number);
  return {
    parent: Number(fields[1]),
    own: toMs(user + system),
    buried: toMs(deadUser + deadSystem),
  };
}

function machineMs(): number {
  const [, ...fields] = (read('/proc/stat')?.split('\n')[0] ?? '').split(/\s+/);
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = fields.map(Number);
  return toMs(user + nice + system + irq + softirq);
}

const toMs = (ticks: number) => (ticks * 1_000) / TICKS_PER_S;

function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
