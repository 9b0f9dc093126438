import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { onPath } from '../../src/embedded/binaries.ts';
import { startRedis } from '../../src/embedded/index.ts';
import { isAlive } from '../../src/embedded/processes.ts';
import { makeTempDir, type TempDir } from '../support/temp-dir.ts';

const installed = ['valkey-server', 'redis-server'].some((name) => onPath(name) !== undefined);

let folder: TempDir;
beforeEach(async () => {
  folder = await makeTempDir();
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await folder.remove();
});

async function setAndGet(path: string): Promise<string | null> {
  const client = new Redis({ path });
  await client.set('a', 'b');
  const value = await client.get('a');
  client.disconnect();
  return value;
}

test('where none is installed there is none', async () => {
  vi.stubEnv('PATH', folder.path);
  expect(await startRedis({ dir: folder.path })).toBeUndefined();
});

test('a private server answers on a socket that is ours alone, and leaves nothing', async () => {
  const redis = await startRedis({ dir: folder.path });
  expect(redis !== undefined).toBe(installed);
  if (redis === undefined) return;
  expect(redis.url).toBe(`unix://${redis.path}`);
  expect((await stat(redis.path)).mode & 0o077).toBe(0);
  expect(await setAndGet(redis.path)).toBe('b');
  const other = await startRedis({ dir: folder.path });
  expect(await setAndGet(redis.path)).toBe('b');
  await other?.stop();
  await redis.stop();
  await redis.stop();
  expect(isAlive(redis.pid)).toBe(false);
  expect(await readdir(folder.path)).toEqual([]);
});

test('a folder too deep for a socket does no harm', async () => {
  const dir = join(folder.path, 'd'.repeat(60), 'e'.repeat(60));
  await mkdir(dir, { recursive: true });
  const redis = await startRedis({ dir });
  expect(redis !== undefined).toBe(installed);
  if (redis === undefined) return;
  expect(redis.path.startsWith(dir)).toBe(false);
  expect(await setAndGet(redis.path)).toBe('b');
  await redis.stop();
});
