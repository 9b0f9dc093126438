import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, isAlive, type Step } from './processes.ts';
import { Tail } from './tail.ts';
import type { User } from './user.ts';

/**
 * A shell between us and the server. It prints the server's pid on fd 4, then waits for it, while a
 * subshell reads fd 3, a pipe whose other end only we hold. When we die, by SIGKILL too, the pipe
 * closes, the read ends and the subshell signals the server. Needs no native code.
 */
const WATCHDOG = `
signal=$1; shift
"$@" 3<&- 4>&- &
server=$!
echo "$server" >&4
exec 4>&-
( while read -r _ <&3; do :; done; kill -s "$signal" "$server" ) 2>/dev/null &
watcher=$!
exec 3<&-
wait "$server"
code=$?
kill "$watcher" 2>/dev/null
exit "$code"
`;

export interface WatchedCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** What the server gets when our process dies, without the SIG: INT, TERM. */
  readonly signal: 'INT' | 'TERM';
  readonly user?: User | undefined;
  readonly env?: NodeJS.ProcessEnv;
  readonly onLine?: ((line: string) => void) | undefined;
}

/** A server process that ends when our process ends. */
export class Watched {
  /** The server's own pid, not the watchdog's. */
  readonly pid: number;
  /** What the server prints on stdout and stderr. */
  readonly tail: Tail;
  /** Resolves to the exit code, or null if the watchdog was killed. */
  readonly exited: Promise<number | null>;
  readonly #shell: ChildProcess;

  constructor(shell: ChildProcess, pid: number, tail: Tail, exited: Promise<number | null>) {
    this.#shell = shell;
    this.pid = pid;
    this.tail = tail;
    this.exited = exited;
  }

  get running(): boolean {
    return this.#shell.exitCode === null && isAlive(this.pid);
  }

  /** From here on the server does not keep our process from ending. */
  letGo(): void {
    this.#shell.unref();
    for (const stream of this.#shell.stdio) (stream as { unref?(): void } | null)?.unref?.();
  }

  async end(steps: readonly Step[]): Promise<void> {
    if (this.running) await endProcess(this.pid, steps);
  }
}

/**
 * Starts a server under the watchdog, in a session of its own so that Ctrl-C reaches only us and
 * our drain can still use the server.
 * @throws if the command cannot be started at all
 */
export async function startWatched(options: WatchedCommand): Promise<Watched> {
  const { command, args, signal, user, env } = options;
  const shell = spawn('/bin/sh', ['-c', WATCHDOG, 'semel-watchdog', signal, command, ...args], {
    detached: true,
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe'],
    ...(env === undefined ? {} : { env }),
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
  });
  const exited = new Promise<number | null>((resolve) => shell.once('close', resolve));
  const tail = new Tail(options.onLine);
  for (const stream of shell.stdio) stream?.on('error', () => {});
  await once(shell, 'spawn');
  for (const stream of [shell.stdout, shell.stderr]) if (stream !== null) tail.follow(stream);
  return new Watched(shell, await readPid(shell.stdio[4] as Readable), tail, exited);
}

async function readPid(from: Readable): Promise<number> {
  let text = '';
  for await (const chunk of from) text += String(chunk);
  return Number.parseInt(text, 10);
}

/** Runs a command to its end under the watchdog. @throws with its last lines if it fails */
export async function runWatched(options: WatchedCommand): Promise<void> {
  const child = await startWatched(options);
  const code = await child.exited;
  if (code !== 0) throw new Error(`${options.command} failed (exit code ${code}).${child.tail}`);
}

/**
 * Waits until `ready` says yes.
 * @returns false if the server exited first, or was not ready in time
 */
export async function untilReady(
  server: Watched,
  ready: () => boolean | Promise<boolean>,
  timeoutMs: number,
): Promise<boolean> {
  const deadline = Date.now() + timeoutMs;
  let exited = false;
  void server.exited.then(() => {
    exited = true;
  });
  while (!exited && Date.now() < deadline) {
    if (await ready()) return true;
    await sleep(10);
  }
  return false;
}
