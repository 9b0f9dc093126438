import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startPostgres } from '../../src/embedded/index.ts';
import { isAlive } from '../../src/embedded/processes.ts';
import { makeTempDir, type TempDir } from '../support/temp-dir.ts';
import { type App, startApp, untilGone } from './app-process.ts';
import { addRow } from './rows.ts';
import { makeSeed, type Seed } from './seed.ts';

// Each test starts real servers, some of them several times, beside whatever else runs.
vi.setConfig({ testTimeout: 120_000 });

let folder: TempDir;
let apps: App[];
let seed: Seed;
beforeAll(async () => {
  seed = await makeSeed();
});
afterAll(() => seed.remove());
beforeEach(async () => {
  apps = [];
  folder = await makeTempDir();
  seed.sow(join(folder.path, 'postgres'));
});
afterEach(async () => {
  for (const app of apps) {
    await app.kill9();
    for (const pid of [app.pid, app.redisPid]) if (pid !== undefined) await untilGone(pid);
  }
  await folder.remove();
});

async function app(...args: Parameters<typeof startApp>): Promise<App> {
  const started = await startApp(...args);
  apps.push(started);
  return started;
}

function parentOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'ppid=', '-p', String(pid)]));
}

describe('the server lives as long as its process', () => {
  test('kill -9 leaves no orphan, and the next start has the rows', async () => {
    const first = await app(folder.path);
    expect(await addRow(first.url)).toBe(1);
    await first.kill9();
    await untilGone(first.pid);
    if (first.redisPid !== undefined) await untilGone(first.redisPid);
    const second = await app(folder.path);
    expect(await addRow(second.url)).toBe(2);
  });

  test('a start right after kill -9 waits for the old server to leave', async () => {
    const first = await app(folder.path);
    expect(await addRow(first.url)).toBe(1);
    await first.kill9();
    const second = await app(folder.path);
    expect(isAlive(first.pid)).toBe(false);
    expect(await addRow(second.url)).toBe(2);
  });

  test('Ctrl-C goes to the process, not to its servers', async () => {
    const { process: child, pid } = await app(folder.path);
    const groups = [child.pid, pid].map((id) =>
      Number(execFileSync('ps', ['-o', 'pgid=', '-p', String(id)])),
    );
    expect(groups[0]).not.toBe(groups[1]);
  });

  test('an orphan whose watchdog was killed too is found and stopped', async () => {
    const first = await app(folder.path);
    expect(await addRow(first.url)).toBe(1);
    const servers = [first.pid, first.redisPid].filter((pid) => pid !== undefined);
    for (const pid of servers) killWatchdog(pid);
    await first.kill9();
    for (const pid of servers) expect(isAlive(pid)).toBe(true);
    const second = await app(folder.path);
    for (const pid of servers) {
      expect(isAlive(pid)).toBe(false);
      expect(second.said()).toContain(`an earlier run left behind (pid ${pid})`);
    }
    expect(await addRow(second.url)).toBe(2);
  });
});

/** The shell and its subshell, so that nobody is left to notice the death of the process. */
function killWatchdog(server: number): void {
  const shell = parentOf(server);
  const rows = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  const children = rows.split('\n').map((row) => row.trim().split(/\s+/).map(Number));
  const subshells = children.filter(([pid, parent]) => parent === shell && pid !== server);
  expect(subshells).toHaveLength(1);
  for (const pid of [shell, ...subshells.map(([pid]) => pid as number)]) {
    process.kill(pid, 'SIGKILL');
  }
}

describe('one folder, one process', () => {
  test('a second living process is told which one is there and what to do', async () => {
    const first = await app(folder.path);
    const message = new RegExp(
      `in use by process ${first.process.pid}: stop that process, or set DATA_DIR`,
    );
    const dataDir = join(folder.path, 'postgres');
    await expect(startPostgres({ dataDir })).rejects.toThrow(message);
    await expect(startApp(folder.path)).rejects.toThrow(message);
    expect(await addRow(first.url)).toBe(1);
  });

  test('the same process is no exception', async () => {
    const dataDir = join(folder.path, 'postgres');
    const first = await startPostgres({ dataDir });
    const again = startPostgres({ dataDir });
    await expect(again).rejects.toThrow(`in use by process ${process.pid}`);
    await first.stop();
  });

  test('of many that start at once over a dead owner exactly one gets it', async () => {
    const dead = await app(folder.path);
    await dead.kill9();
    const dataDir = join(folder.path, 'postgres');
    const starts = await Promise.allSettled(
      Array.from({ length: 5 }, () => startPostgres({ dataDir })),
    );
    const started = starts.filter((start) => start.status === 'fulfilled');
    expect(started).toHaveLength(1);
    for (const start of started) await start.value.stop();
  });
});
