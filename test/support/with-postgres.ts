import { join } from 'node:path';
import { type RunningPostgres, startPostgres } from '../../src/embedded/index.ts';
import { makeTempDir } from './temp-dir.ts';

export interface TestPostgres {
  /** The same after every start. */
  readonly url: string;
  /** Of the present or last server process. */
  readonly pid: number;
  start(): Promise<void>;
  /** Ends the sessions and writes a checkpoint. */
  stop(): Promise<void>;
  /** Ends at once without a checkpoint; the next start recovers. */
  immediateStop(): Promise<void>;
  kill9(): Promise<void>;
  kill9AndRestart(): Promise<void>;
  /** Stops it and deletes its data. */
  remove(): Promise<void>;
}

/**
 * A server of one's own, for tests that stop or crash it; others share one, see `createDatabase`.
 * Durable unless told otherwise: what such tests look at is what survives.
 */
export async function startTestPostgres(
  options: { durable?: boolean; settings?: Readonly<Record<string, string>> } = {},
): Promise<TestPostgres> {
  const folder = await makeTempDir();
  const dataDir = join(folder.path, 'postgres');
  let server: RunningPostgres = await startPostgres({ dataDir, ...options });
  const { url, port } = server;
  const start = async () => {
    server = await startPostgres({ dataDir, port, ...options });
    if (server.port !== port) throw new Error(`The port ${port} was taken in the meantime.`);
  };
  return {
    url,
    get pid() {
      return server.pid;
    },
    start,
    stop: () => server.stop(),
    immediateStop: () => {
      process.kill(server.pid, 'SIGQUIT');
      return server.stop();
    },
    kill9: () => server.kill(),
    kill9AndRestart: async () => {
      await server.kill();
      await start();
    },
    remove: async () => {
      await server.stop();
      await folder.remove();
    },
  };
}
