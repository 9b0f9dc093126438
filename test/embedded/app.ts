/**
 * A small application with everything embedded, for tests that kill it: it prints where its servers
 * are and stays. Arguments: the folder, then perhaps a uid and gid to become an ordinary user.
 */
import { join } from 'node:path';
import { startPostgres, startRedis } from '../../src/embedded/index.ts';

const [folder = '', uid, gid] = process.argv.slice(2);

if (uid !== undefined && gid !== undefined) {
  process.setgroups?.([]);
  process.setgid?.(Number(gid));
  process.setuid?.(Number(uid));
}

try {
  const log = (line: string) => console.error(line);
  const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), log });
  const redis = await startRedis({ dir: folder, log });
  setInterval(() => {}, 60_000);
  const { url, pid } = postgres;
  console.log(JSON.stringify({ url, pid, redisPid: redis?.pid }));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
