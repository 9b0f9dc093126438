import { chown, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Binaries, findBinaries } from './binaries.ts';
import { openCluster, POSTGRES_ENV, ROLE } from './cluster.ts';
import { MARK, readPidFile, STOP_STEPS, stopOrphan } from './orphan.ts';
import { takeOwnership } from './owner.ts';
import { findPlace, type Place } from './place.ts';
import { freePort } from './ports.ts';
import { startWatched, untilReady, type Watched } from './watchdog.ts';

export interface PostgresOptions {
  /** The folder of the data; made if it does not exist. Relative to the working directory. */
  readonly dataDir: string;
  /** Told, in whole lines, what the operator should know. */
  readonly log?: (line: string) => void;
  /** Told every line Postgres itself prints. */
  readonly output?: (line: string) => void;
  /** False gives up safety against a crash of the machine for speed: for tests only. Default true. */
  readonly durable?: boolean;
  /** More settings of Postgres, by name. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The port to try first; default one that is free. */
  readonly port?: number;
}

export interface RunningPostgres {
  /** Role, password, 127.0.0.1, port and the database `postgres`. */
  readonly url: string;
  readonly port: number;
  /** The postmaster's. */
  readonly pid: number;
  /** Ends the sessions, writes a checkpoint, leaves the folder to others. May be called twice. */
  stop(): Promise<void>;
  /** SIGKILL, as a crash would: the next start recovers. */
  kill(): Promise<void>;
  /** Called once when the server has ended, for whatever reason. */
  onExit(callback: () => void): void;
}

/** Recovery after a crash reads all that was written since the last checkpoint. */
const READY_WITHIN_MS = 300_000;
const LEFTOVERS_GONE_WITHIN_MS = 30_000;
const LEFTOVERS_POLL_MS = 200;
const PORTS_TRIED = 10;

const PORT_TAKEN = /Address already in use|could not create any TCP\/IP sockets/;
/** Sessions of a killed postmaster that have not yet noticed. */
const LEFTOVERS = /shared memory block .* still in use/;

/**
 * Starts a private Postgres that lives as long as this process: it ends with it, even by SIGKILL,
 * and does not keep it from ending.
 * @throws if another living process uses the folder, if there is no Postgres to start, or, with
 * Postgres' own last lines, if it does not start
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const log = options.log ?? (() => {});
  const place = await findPlace(options.dataDir, log);
  const ownership = await takeOwnership(place.data);
  try {
    const binaries = await findBinaries(place.user);
    await stopOrphan(place.data, log);
    await giveToUser(place);
    const password = await openCluster(place, binaries, options.durable ?? true);
    const { server, port } = await launch(place, binaries, options);
    return handle(server, port, password, () => ownership.release());
  } catch (error) {
    await ownership.release();
    throw error;
  }
}

function handle(
  server: Watched,
  port: number,
  password: string,
  release: () => Promise<void>,
): RunningPostgres {
  return {
    url: `postgres://${ROLE}:${password}@127.0.0.1:${port}/postgres`,
    port,
    pid: server.pid,
    stop: async () => {
      await server.end(STOP_STEPS);
      await release();
    },
    kill: async () => {
      await server.end([{ signal: 'SIGKILL', waitMs: 5_000 }]);
      await release();
    },
    onExit: (callback) => void server.exited.then(callback),
  };
}

/** Tries again on another port, and while the sessions of a crashed server are still leaving. */
async function launch(
  place: Place,
  binaries: Binaries,
  options: PostgresOptions,
): Promise<{ server: Watched; port: number }> {
  const deadline = Date.now() + LEFTOVERS_GONE_WITHIN_MS;
  let port = options.port ?? (await freePort());
  for (let tried = 1; ; ) {
    const server = await startWatched({
      command: join(binaries.bin, 'postgres'),
      args: serverArgs(place.data, port, options),
      signal: 'INT',
      user: place.user,
      env: POSTGRES_ENV,
      onLine: options.output,
    });
    if (await untilReady(server, () => isReady(place.data, server.pid), READY_WITHIN_MS)) {
      server.letGo();
      return { server, port };
    }
    await server.end(STOP_STEPS);
    const code = await server.exited;
    if (server.tail.includes(PORT_TAKEN) && tried < PORTS_TRIED) {
      port = await freePort();
      tried += 1;
    } else if (server.tail.includes(LEFTOVERS) && Date.now() < deadline) {
      await sleep(LEFTOVERS_POLL_MS);
    } else {
      throw new Error(`Postgres did not start (exit code ${code}).${server.tail}`);
    }
  }
}

function isReady(data: string, pid: number): boolean {
  const found = readPidFile(data);
  return found?.pid === pid && found.ready;
}

function serverArgs(data: string, port: number, options: PostgresOptions): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
    shared_buffers: '256MB',
    max_connections: '200',
    ...((options.durable ?? true) ? {} : UNSAFE_AND_FAST),
    ...options.settings,
  };
  const flags = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return ['-D', data, '-p', String(port), ...flags, '-c', MARK];
}

const UNSAFE_AND_FAST = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' };

/** Data that was copied here by root is root's, and Postgres insists on owning it. */
async function giveToUser({ data, user }: Place): Promise<void> {
  if (user === undefined) return;
  const found = await stat(data).catch(() => undefined);
  if (found === undefined || found.uid === user.uid) return;
  for (const name of ['', ...(await readdir(data, { recursive: true }))]) {
    await chown(join(data, name), user.uid, user.gid);
  }
}
