import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';

export interface TestRedisOptions {
  /** Further arguments of the server, for example `['--maxmemory', '2mb']`. */
  readonly args?: readonly string[];
  /** What clients must say; none if left out. */
  readonly password?: string;
  /** A configuration file that comes before all arguments. */
  readonly config?: string;
}

/** A private server with nothing in it, on a free port of the loopback and on a socket. */
export interface TestRedis {
  readonly port: number;
  readonly url: string;
  readonly socketUrl: string;
  /** Of the server that runs now; `restart` changes it. */
  readonly pid: number;
  /** A plain client with patience, ended together with the server. */
  client(): Redis;
  /** Deletes every key. */
  flush(): Promise<void>;
  /** Stops the process without ending it: connections stay, nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Ends the server at once, as a crash would. */
  kill(): Promise<void>;
  /** Starts an empty server on the same port and socket. */
  restart(): Promise<void>;
  /** Ends the server, the clients and the temporary directory. */
  stop(): Promise<void>;
}

const START_WITHIN_MS = 10_000;

export async function startTestRedis({
  args = [],
  config,
  password,
}: TestRedisOptions = {}): Promise<TestRedis> {
  const binary = serverBinary();
  const directory = await mkdtemp(join(tmpdir(), 'semel-redis-'));
  const socket = join(directory, 's');
  const port = await freePort();
  const secret = password === undefined ? [] : ['--requirepass', password];
  const place: Place = { path: socket, ...(password === undefined ? {} : { password }) };
  const clients = new Set<Redis>();
  const common = [
    ...(config === undefined ? [] : [config]),
    '--port',
    `${port}`,
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
  ];
  const quick = ['--unixsocket', socket, '--save', '', '--appendonly', 'no'];
  const start = (): Promise<Running> =>
    run(
      binary,
      [...common, ...quick, '--maxmemory-policy', 'noeviction', ...secret, ...args],
      place,
    );
  let running = await start().catch(async (error: unknown) => {
    await rm(directory, { recursive: true, force: true });
    throw error;
  });
  const client = (): Redis => {
    const made = new Redis({ ...place, retryStrategy: (times) => Math.min(times * 20, 200) });
    made.on('error', () => {});
    clients.add(made);
    return made;
  };
  const kill = (): Promise<void> => running.end();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    socketUrl: `unix://${socket}`,
    get pid() {
      return running.pid;
    },
    client,
    flush: async () => {
      await withClient(place, (admin) => admin.flushall());
    },
    freeze: () => void process.kill(running.pid, 'SIGSTOP'),
    thaw: () => void process.kill(running.pid, 'SIGCONT'),
    kill,
    restart: async () => {
      await kill();
      running = await start();
    },
    stop: async () => {
      for (const made of clients) made.disconnect();
      await kill();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

interface Place {
  readonly path: string;
  readonly password?: string;
}

interface Running {
  readonly pid: number;
  end(): Promise<void>;
}

async function run(binary: string, args: readonly string[], place: Place): Promise<Running> {
  const server = spawn(binary, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  const said: string[] = [];
  server.stdout.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  const { pid } = server;
  if (pid === undefined) throw new Error(`${binary} could not be started.`);
  const guard = guardOver(pid, dirname(place.path));
  const end = async (): Promise<void> => {
    guard.kill('SIGKILL');
    if (server.exitCode !== null || server.signalCode !== null) return;
    const gone = once(server, 'exit');
    server.kill('SIGKILL');
    await gone;
  };
  const answers = withClient(place, (admin) => admin.ping());
  const died = once(server, 'exit').then(() => {
    throw new Error(`${binary} ended at once: ${said.join('').slice(-500)}`);
  });
  try {
    await Promise.race([answers, died]);
  } catch (error) {
    await end();
    throw error;
  } finally {
    // Whichever lost the race has nobody to tell.
    for (const loser of [answers, died]) loser.catch(() => {});
  }
  return { pid, end };
}

/** Ends the server when this process dies, whatever it dies of: then the pipe is closed. */
function guardOver(pid: number, directory: string): ChildProcess {
  const clean = 'read -r _; kill -9 "$1"; rm -rf "$2"';
  const guard = spawn('sh', ['-c', clean, 'guard', `${pid}`, directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  return guard;
}

/** Waits for a server that is just starting. */
async function withClient<T>(place: Place, work: (admin: Redis) => Promise<T>): Promise<T> {
  const retryStrategy = (times: number): number | null =>
    times * 10 > START_WITHIN_MS ? null : 10;
  const admin = new Redis({ ...place, retryStrategy, maxRetriesPerRequest: null });
  admin.on('error', () => {});
  try {
    return await work(admin);
  } finally {
    admin.disconnect();
  }
}

function serverBinary(): string {
  for (const name of ['redis-server', 'valkey-server']) {
    if (spawnSync(name, ['--version'], { stdio: 'ignore' }).status === 0) return name;
  }
  throw new Error('redis-server is needed: apt-get install -y redis-server (or valkey-server)');
}

/** A port that nobody listens on at the moment. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  if (address === null || typeof address === 'string') throw new Error('No port is free.');
  return address.port;
}
