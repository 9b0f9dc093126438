import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { onPath } from './binaries.ts';
import { commandLine, endProcess, isAlive, type Step } from './processes.ts';
import { startWatched, untilReady } from './watchdog.ts';

export interface RedisOptions {
  /** The folder of the socket; made if it does not exist. Nothing else is kept there. */
  readonly dir: string;
  /** Told, in whole lines, what the operator should know. */
  readonly log?: (line: string) => void;
}

export interface RunningRedis {
  /** `unix://` and the path of the socket. */
  readonly url: string;
  /** The path alone, as most clients want it. */
  readonly path: string;
  readonly kind: 'redis' | 'valkey';
  readonly pid: number;
  /** Ends it; what it held is gone. May be called twice. */
  stop(): Promise<void>;
  /** Called once when the server has ended, for whatever reason. */
  onExit(callback: () => void): void;
}

/** The shortest limit of a socket's path among the systems we run on (macOS; Linux has 107). */
const SOCKET_PATH_BYTES = 103;
const READY_WITHIN_MS = 10_000;
const PING_TIMEOUT_MS = 1_000;
const STOP_STEPS: readonly Step[] = [
  { signal: 'SIGTERM', waitMs: 5_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
];

/**
 * Starts a private in-memory Redis or Valkey that lives as long as this process, reachable by a
 * socket that only this user can open.
 * @returns undefined if neither is installed
 * @throws with the server's last lines if it does not start
 */
export async function startRedis(options: RedisOptions): Promise<RunningRedis | undefined> {
  const found = findServer();
  if (found === undefined) return undefined;
  const dir = resolve(options.dir);
  await mkdir(dir, { recursive: true });
  await stopOrphans(dir, options.log ?? (() => {}));
  const name = nextName();
  const path = await socketPath(dir, name);
  const pidFile = join(dir, `${name}.pid`);
  const args = [...redisArgs(path), '--pidfile', pidFile];
  const server = await startWatched({ command: found.command, args, signal: 'TERM' });
  const stop = async () => {
    await server.end(STOP_STEPS);
    for (const file of [path, pidFile]) await rm(file, { force: true });
    if (dirname(path) !== dir) await rm(dirname(path), { recursive: true, force: true });
  };
  if (!(await untilReady(server, () => answersPing(path), READY_WITHIN_MS))) {
    await stop();
    throw new Error(`${found.command} did not start.${server.tail}`);
  }
  server.letGo();
  const onExit = (callback: () => void) => void server.exited.then(callback);
  return { url: `unix://${path}`, path, kind: found.kind, pid: server.pid, stop, onExit };
}

function findServer(): { command: string; kind: 'redis' | 'valkey' } | undefined {
  for (const kind of ['valkey', 'redis'] as const) {
    const command = onPath(`${kind}-server`);
    if (command !== undefined) return { command, kind };
  }
  return undefined;
}

/** Evicting would forget a held lock without a word; refusing a write is an error we can see. */
function redisArgs(socket: string): string[] {
  const access = ['--port', '0', '--unixsocket', socket, '--unixsocketperm', '700'];
  return [...access, '--save', '', '--appendonly', 'no', '--maxmemory-policy', 'noeviction'];
}

const names = new Set<string>();

/** A name for each server: one that starts would take over a socket that exists. */
function nextName(): string {
  const name = `redis-${process.pid}-${names.size}`;
  names.add(name);
  return name;
}

async function socketPath(dir: string, name: string): Promise<string> {
  const path = join(dir, `${name}.sock`);
  if (Buffer.byteLength(path) <= SOCKET_PATH_BYTES) return path;
  return join(await mkdtemp(join(tmpdir(), 'semel-')), 'redis.sock');
}

function answersPing(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const answer = (yes: boolean) => {
      socket.destroy();
      resolve(yes);
    };
    socket.setTimeout(PING_TIMEOUT_MS, () => answer(false));
    socket.once('error', () => answer(false));
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (data) => answer(data.toString().startsWith('+PONG')));
  });
}

/** Ends servers whose process, and watchdog with it, was killed; their pid files name both. */
async function stopOrphans(dir: string, log: (line: string) => void): Promise<void> {
  for (const file of await readdir(dir)) {
    const name = leftBehind(file);
    if (name === undefined) continue;
    const pid = Number(await readFile(join(dir, file), 'utf8').catch(() => ''));
    if (pid > 0 && /\b(redis|valkey)-server\b/.test(commandLine(pid))) {
      log(`Stopping the Redis that an earlier run left behind (pid ${pid}).`);
      await endProcess(pid, STOP_STEPS);
    }
    for (const end of ['pid', 'sock']) await rm(join(dir, `${name}.${end}`), { force: true });
  }
}

/** The name in a pid file's name, if the process that gave it is no more; it may have had our pid. */
function leftBehind(file: string): string | undefined {
  const match = /^(redis-(\d+)-\d+)\.pid$/.exec(file);
  const [name, owner] = [match?.[1], Number(match?.[2])];
  if (name === undefined || names.has(name)) return undefined;
  return owner === process.pid || !isAlive(owner) ? name : undefined;
}
