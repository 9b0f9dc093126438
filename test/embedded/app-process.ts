import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeEntry } from '../../src/embedded/index.ts';
import { isAlive } from '../../src/embedded/processes.ts';

export interface App {
  readonly process: ChildProcess;
  readonly url: string;
  readonly pid: number;
  readonly redisPid: number | undefined;
  readonly said: () => string;
  kill9(): Promise<void>;
}

/** Starts `app.ts` in a process of its own. @throws with what it said if it ends instead */
export async function startApp(
  folder: string,
  options: { args?: readonly string[]; env?: NodeJS.ProcessEnv } = {},
): Promise<App> {
  const { command, args } = nodeEntry(import.meta.url, './app');
  const child = spawn(command, [...args, folder, ...(options.args ?? [])], {
    env: { ...process.env, ...options.env },
  });
  let [out, said] = ['', ''];
  child.stderr.on('data', (data) => {
    said += String(data);
  });
  const announced = new Promise<void>((resolve, reject) => {
    child.stdout.on('data', (data) => {
      out += String(data);
      if (out.includes('\n')) resolve();
    });
    child.once('close', () => reject(new Error(said)));
  });
  await announced;
  return {
    process: child,
    ...(JSON.parse(out) as { url: string; pid: number; redisPid: number | undefined }),
    said: () => said,
    kill9: async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}

/** @throws if the process is still there when the time is over */
export async function untilGone(pid: number, withinMs = 10_000): Promise<void> {
  const deadline = Date.now() + withinMs;
  while (isAlive(pid)) {
    if (Date.now() > deadline) throw new Error(`Process ${pid} is still running.`);
    await sleep(10);
  }
}
