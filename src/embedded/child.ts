import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { endProcess, type Step } from './processes.ts';
import { Tail } from './tail.ts';

export interface ChildOptions {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  /** Told every line the child prints, except the one with its URL. */
  readonly log?: (line: string) => void;
}

export interface RunningChild {
  readonly url: string;
  readonly pid: number;
  /** SIGTERM, and SIGKILL if that does not end it. May be called twice. */
  stop(): Promise<void>;
  /** Called once when the child has ended, for whatever reason; null: by a signal. */
  onExit(callback: (code: number | null) => void): void;
}

const READY_WITHIN_MS = 30_000;
const STOP_STEPS: readonly Step[] = [
  { signal: 'SIGTERM', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

/**
 * Starts a server of ours in a process of its own. The child's side of the bargain: it prints one
 * line `{"url": …}` when it is ready, and ends when its stdin ends, which is how it notices that we
 * died by whatever cause. It has a session of its own, so that Ctrl-C reaches only us.
 * @throws with the child's last lines if it ends, or stays silent, before it is ready
 */
export async function startChild(options: ChildOptions): Promise<RunningChild> {
  const child = spawn(options.command, options.args, {
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(options.env === undefined ? {} : { env: options.env }),
  });
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  child.stdin.on('error', () => {});
  await once(child, 'spawn');
  const pid = child.pid as number;
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) await endProcess(pid, STOP_STEPS);
  };
  try {
    const url = await announcedUrl(child, exited, options);
    letGo(child);
    return { url, pid, stop, onExit: (callback) => void exited.then(callback) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** How to run a file of ours with Node: as TypeScript from the sources, as it is when built. */
export interface NodeEntry {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * @param from `import.meta.url` of the caller; its extension tells sources from the built files
 * @param path the entry relative to the caller, without an extension
 */
export function nodeEntry(from: string, path: string): NodeEntry {
  const extension = extname(fileURLToPath(from));
  const file = fileURLToPath(new URL(`${path}${extension}`, from));
  if (extension !== '.ts') return { command: process.execPath, args: [file] };
  const tsx = createRequire(import.meta.url).resolve('tsx');
  return { command: process.execPath, args: ['--import', pathToFileURL(tsx).href, file] };
}

function announcedUrl(
  child: ChildProcess,
  exited: Promise<number | null>,
  { command, args, log }: ChildOptions,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const tail = new Tail(log);
    const fail = (why: string) =>
      reject(new Error(`${[command, ...args].join(' ')} ${why}.${tail}`));
    const timer = setTimeout(fail, READY_WITHIN_MS, `did not print its URL`);
    const settle = (then: () => void) => {
      clearTimeout(timer);
      then();
    };
    const output = new Tail((line) => {
      const url = urlIn(line);
      if (url === undefined) log?.(line);
      else settle(() => resolve(url));
    });
    if (child.stderr !== null) tail.follow(child.stderr);
    if (child.stdout !== null) output.follow(child.stdout);
    void exited.then((code) => settle(() => fail(`ended before it was ready (exit code ${code})`)));
  });
}

function urlIn(line: string): string | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null || !('url' in value)) return undefined;
    return typeof value.url === 'string' ? value.url : undefined;
  } catch {
    return undefined;
  }
}

function letGo(child: ChildProcess): void {
  child.unref();
  for (const stream of child.stdio) (stream as { unref?(): void } | null)?.unref?.();
}
