import { setTimeout as sleep } from 'node:timers/promises';
import { CpuClock, rssMb } from './cpu.ts';
import type { FreshSet } from './fresh-set.ts';
import type { Measured } from './measured.ts';
import type { Mode } from './modes.ts';

const QUIET_CORES = 0.3;
const QUIET_LOOK_MS = 300;
const QUIET_WAIT_MS = 6_000;

/** Plays a mode and notes what it took, and what others took meanwhile. */
export async function measure(
  set: FreshSet,
  mode: Mode,
  at: { readonly set: number; readonly round: number; readonly ms: number },
): Promise<Measured> {
  await set.ready(mode);
  const pids = set.pids(mode);
  const before = new CpuClock();
  const startedAt = performance.now();
  const seen = await set.play(mode, { ms: at.ms * mode.stretch });
  const wallMs = performance.now() - startedAt;
  const after = new CpuClock();
  const usedMs = (pid: number) => after.familyMs(pid) - before.familyMs(pid);
  const parts = Object.entries(pids).map(
    ([part, all]) => [part, all.reduce((sum, pid) => sum + usedMs(pid), 0)] as const,
  );
  // What this process itself used; a pgbench that has ended is in it.
  const selfMs = after.aloneMs(process.pid) - before.aloneMs(process.pid);
  const ownMs = parts.reduce((sum, [, ms]) => sum + ms, selfMs);
  const server = pids['server']?.[0];
  return {
    ...seen,
    mode: mode.name,
    set: at.set,
    round: at.round,
    perSecond: (seen.right * 1_000) / seen.ms,
    cpuUs: Object.fromEntries(
      [...parts, ['pgbench', mode.by === 'pgbench' ? selfMs : 0] as const]
        .map(([part, ms]) => [part, (ms * 1_000) / Math.max(1, seen.requests)] as const)
        .filter(([part, us]) => part !== 'others' && us >= 1),
    ),
    rssMb: server === undefined ? null : rssMb(server),
    foreignCores: Math.max(0, (after.machineMs - before.machineMs - ownMs) / wallMs),
  };
}

/** Waits some seconds for others to be quiet, but never for ever: what they use is written down. */
export async function untilQuiet(): Promise<void> {
  const endsAt = performance.now() + QUIET_WAIT_MS;
  let before = new CpuClock();
  while (performance.now() < endsAt) {
    await sleep(QUIET_LOOK_MS);
    const now = new CpuClock();
    if ((now.machineMs - before.machineMs) / QUIET_LOOK_MS < QUIET_CORES) return;
    before = now;
  }
}
