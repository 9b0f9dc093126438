import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startSimulator } from '../../src/simulator/main.ts';
import { startTestSimulator } from '../support/with-simulator.ts';
import { charge, fresh, PATIENCE } from './calls.ts';

const ENTRY = fileURLToPath(new URL('../../src/simulator/process.ts', import.meta.url));
let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'semel-process-'));
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

async function output(child: ChildProcess, from: 'stdout' | 'stderr'): Promise<string> {
  const [chunk] = (await once(child[from] as NodeJS.ReadableStream, 'data')) as [Buffer];
  return chunk.toString();
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('the simulator as a process', () => {
  it('does not outlive a parent that was killed', async () => {
    const parent = spawn(
      process.execPath,
      [
        '-e',
        `const { spawn } = require('node:child_process');
         const args = ['--import', 'tsx', ${JSON.stringify(ENTRY)}, '--parent-pipe', '--data-dir', ${JSON.stringify(dataDir)}];
         const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
         child.stdout.once('data', (line) => console.log(child.pid + ' ' + line));`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const pid = Number.parseInt(await output(parent, 'stdout'), 10);
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await expect.poll(() => isAlive(pid), PATIENCE).toBe(false);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('ends in good order on %s', async (signal) => {
    const simulator = await startTestSimulator({ dataDir });
    const hanging = charge(simulator.url, { ...fresh(), source: 'pm_execute_then_hang' });
    hanging.catch(() => {});
    await expect.poll(() => simulator.executions(), PATIENCE).toHaveLength(1);
    process.kill(simulator.pid, signal);
    await expect.poll(() => isAlive(simulator.pid), PATIENCE).toBe(false);
    await expect(hanging).rejects.toThrow();
    await simulator.stop();
  });

  it.each([
    [[], '--data-dir is missing'],
    [['--data-dir', '.', '--port', 'high'], '--port must be a whole number, not "high"'],
  ])('says what is wrong with its flags: %j', async (flags, message) => {
    const child = spawn(process.execPath, ['--import', 'tsx', ENTRY, ...flags]);
    const ended = once(child, 'exit');
    expect(await output(child, 'stderr')).toContain(message);
    expect(await ended).toEqual([1, null]);
  });

  it('runs inside another process, too, and closes while callers hang', async () => {
    const simulator = await startSimulator({ host: '127.0.0.1', port: 0, dataDir });
    const hanging = charge(simulator.url, { ...fresh(), source: 'pm_hang_before' });
    hanging.catch(() => {});
    expect((await charge(simulator.url, fresh())).status).toBe(200);
    await simulator.close();
    await expect(hanging).rejects.toThrow();
  });
});
