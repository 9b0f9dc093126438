import { lstat, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startPostgres } from '../../src/embedded/index.ts';
import { isAlive } from '../../src/embedded/processes.ts';
import { makeTempDir, type TempDir } from '../support/temp-dir.ts';
import { startTestPostgres } from '../support/with-postgres.ts';
import { addRow, withSql } from './rows.ts';
import { makeSeed, type Seed } from './seed.ts';

// Each test starts real servers, some of them several times, beside whatever else runs.
vi.setConfig({ testTimeout: 120_000 });

let folder: TempDir;
let dataDir: string;
let seed: Seed;
beforeAll(async () => {
  seed = await makeSeed();
});
afterAll(() => seed.remove());
beforeEach(async () => {
  folder = await makeTempDir();
  dataDir = join(folder.path, 'postgres');
});
afterEach(() => folder.remove());

describe('a start and a stop', () => {
  test('the folder is made, and rows survive a restart', async () => {
    dataDir = join(folder.path, 'deep', 'postgres');
    const first = await startPostgres({ dataDir });
    expect(await addRow(first.url)).toBe(1);
    await first.stop();
    expect(isAlive(first.pid)).toBe(false);
    await first.stop();
    const second = await startPostgres({ dataDir });
    expect(await addRow(second.url)).toBe(2);
    await second.stop();
    // Under a strict umask the new folder is closed to the server's user, and the data elsewhere.
    await rm(await realpath(dataDir), { recursive: true });
  });

  test('it is durable, in UTC and UTF-8, and asks for the password', async () => {
    const server = await startPostgres({ dataDir, settings: { work_mem: '7MB' } });
    const settings = await withSql(
      server.url,
      (sql) => sql<{ name: string; setting: string }[]>`
      select name, current_setting(name) as setting from pg_settings
      where name in ('fsync', 'synchronous_commit', 'full_page_writes', 'TimeZone',
        'server_encoding', 'listen_addresses', 'unix_socket_directories', 'work_mem')`,
    );
    expect(
      Object.fromEntries(settings.map((row) => [row.name.toLowerCase(), row.setting])),
    ).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      full_page_writes: 'on',
      timezone: 'UTC',
      server_encoding: 'UTF8',
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      work_mem: '7MB',
    });
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await expect(withSql(wrong.href, (sql) => sql`select 1`)).rejects.toThrow(/password/);
    const mode = (await lstat(join(dataDir, 'semel.password'))).mode & 0o777;
    expect(mode).toBe(0o600);
    await server.stop();
  });

  test('two at once get ports of their own', async () => {
    const dirs = ['one', 'two'].map((name) => join(folder.path, name));
    for (const dir of dirs) seed.sow(dir);
    const servers = await Promise.all(dirs.map((dir) => startPostgres({ dataDir: dir })));
    expect(servers[0]?.port).not.toBe(servers[1]?.port);
    for (const server of servers) expect(await addRow(server.url)).toBe(1);
    await Promise.all(servers.map((server) => server.stop()));
  });

  test('a port that is taken is left to its owner', async () => {
    const [dir, other] = [join(folder.path, 'one'), join(folder.path, 'other')];
    for (const path of [dir, other]) seed.sow(path);
    const first = await startPostgres({ dataDir: dir });
    const second = await startPostgres({ dataDir: other, port: first.port });
    expect(second.port).not.toBe(first.port);
    await Promise.all([first.stop(), second.stop()]);
  });
});

test('a folder that cannot be made is named, with the ways out', async () => {
  const file = join(folder.path, 'file');
  await writeFile(file, '');
  const start = startPostgres({ dataDir: join(file, 'postgres') });
  await expect(start).rejects.toThrow(/cannot be kept in .*set DATA_DIR .*or set DATABASE_URL/);
});

describe('after a crash', () => {
  test('a killed server loses no acknowledged row', async () => {
    const server = await startTestPostgres();
    await addRow(server.url);
    let acknowledged = 1;
    const writing = withSql(server.url, async (sql) => {
      for (;;) {
        await sql`insert into visits default values`;
        acknowledged += 1;
      }
    }).catch(() => {});
    await expect.poll(() => acknowledged).toBeGreaterThan(50);
    await server.kill9();
    await writing;
    await server.start();
    expect(await addRow(server.url)).toBeGreaterThan(acknowledged);
    await server.kill9AndRestart();
    await server.immediateStop();
    await server.start();
    expect(await addRow(server.url)).toBeGreaterThan(acknowledged + 1);
    await server.remove();
  });

  test('its end is told', async () => {
    seed.sow(dataDir);
    const server = await startPostgres({ dataDir });
    const told = new Promise<void>((resolve) => server.onExit(resolve));
    process.kill(server.pid, 'SIGKILL');
    await told;
    await server.stop();
  });

  test('a pid file whose pid went to another process does not stand in the way', async () => {
    seed.sow(dataDir);
    const first = await startPostgres({ dataDir });
    await first.kill();
    const pidFile = join(dataDir, 'postmaster.pid');
    const [, ...rest] = (await readFile(pidFile, 'utf8')).split('\n');
    await writeFile(pidFile, [process.pid, ...rest].join('\n'));
    const second = await startPostgres({ dataDir });
    expect(second.pid).not.toBe(process.pid);
    await second.stop();
  });

  test('a first start that was cut short leaves nothing behind', async () => {
    const first = startPostgres({ dataDir, settings: { shared_buffers: 'many' } });
    await expect(first).rejects.toThrow(/Postgres did not start .*shared_buffers/s);
    await writeFile(`${dataDir}.new-1.password`, 'old');
    const second = await startPostgres({ dataDir });
    await expect(lstat(`${dataDir}.new-1.password`)).rejects.toThrow(/ENOENT/);
    await second.stop();
  });

  test('data of another version is refused with the way out', async () => {
    seed.sow(dataDir);
    const first = await startPostgres({ dataDir });
    await first.stop();
    await writeFile(join(dataDir, 'PG_VERSION'), '9\n');
    await expect(startPostgres({ dataDir })).rejects.toThrow(/PostgreSQL 9.*PG_BIN.*DATA_DIR/);
  });
});
