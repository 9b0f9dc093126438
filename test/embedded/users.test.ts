import { execFileSync } from 'node:child_process';
import { chmod, cp, lstat, mkdir, readdir, readlink, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { findBinaries, SOURCES } from '../../src/embedded/binaries.ts';
import { startPostgres } from '../../src/embedded/index.ts';
import type { NativePackage } from '../../src/embedded/native.ts';
import { canEnter, chooseUser, type User } from '../../src/embedded/user.ts';
import { makeTempDir, type TempDir } from '../support/temp-dir.ts';
import { startApp, untilGone } from './app-process.ts';
import { addRow } from './rows.ts';

// Each test starts real servers, some of them several times, beside whatever else runs.
vi.setConfig({ testTimeout: 120_000 });

const isRoot = process.getuid?.() === 0;

let folder: TempDir;
beforeEach(async () => {
  folder = await makeTempDir();
});
afterEach(() => folder.remove());

function uidOf(pid: number): number {
  return Number(execFileSync('ps', ['-o', 'uid=', '-p', String(pid)]));
}

function idOf(flag: '-u' | '-g', name: string): number {
  return Number(execFileSync('id', [flag, name]));
}

/** Nobody if we are root and can become anybody, else ourselves. */
function ordinaryUser(): User {
  if (isRoot) return { name: 'nobody', uid: idOf('-u', 'nobody'), gid: idOf('-g', 'nobody') };
  return { name: 'ourselves', uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
}

describe('whom Postgres runs as', () => {
  test('an ordinary user runs it itself', async () => {
    const user = ordinaryUser();
    const home = join(folder.path, 'home');
    await mkdir(home);
    if (isRoot) execFileSync('chown', [`${user.uid}:${user.gid}`, home]);
    const { bin } = await findBinaries(isRoot ? user : undefined);
    const args = isRoot ? [String(user.uid), String(user.gid)] : [];
    const app = await startApp(home, { args, env: { PG_BIN: bin } });
    expect(uidOf(app.pid)).toBe(user.uid);
    expect(await addRow(app.url)).toBe(1);
    await app.kill9();
    await untilGone(app.pid);
    const next = await startPostgres({ dataDir: join(home, 'postgres') });
    expect(uidOf(next.pid)).toBe(user.uid);
    expect(await addRow(next.url)).toBe(2);
    await next.stop();
  });

  test('root lends it another user', async () => {
    const dataDir = join(folder.path, 'postgres');
    const server = await startPostgres({ dataDir });
    const owner = (await stat(dataDir)).uid;
    expect(uidOf(server.pid)).toBe(owner);
    expect(owner === 0).toBe(false);
    expect(owner === process.getuid?.()).toBe(!isRoot);
    await server.stop();
  });

  test('data that root has copied is handed over', async () => {
    const [source, copy] = [join(folder.path, 'source'), join(folder.path, 'copy')];
    const first = await startPostgres({ dataDir: source });
    await addRow(first.url);
    await first.stop();
    await cp(source, copy, { recursive: true });
    const second = await startPostgres({ dataDir: copy });
    expect(await addRow(second.url)).toBe(2);
    await second.stop();
  });

  test('a uid without a name is sent to DATABASE_URL', async () => {
    const home = join(folder.path, 'home');
    await mkdir(home);
    await chmod(home, 0o777);
    if (!isRoot) return expect(chooseUser(home)).toBeUndefined();
    const start = startApp(home, { args: ['23456', '23456'] });
    await expect(start).rejects.toThrow(/uid 23456, which has no passwd entry: set DATABASE_URL/);
  });
});

describe('below a folder closed to the user', () => {
  test('the data is kept in an open place, with a link where it was asked for', async () => {
    const closed = join(folder.path, 'closed');
    await mkdir(closed, { mode: 0o700 });
    const dataDir = join(closed, 'postgres');
    const said: string[] = [];
    const first = await startPostgres({ dataDir, log: (line) => said.push(line) });
    expect(await addRow(first.url)).toBe(1);
    await first.stop();
    const linked = (await lstat(dataDir)).isSymbolicLink();
    expect(linked).toBe(isRoot);
    expect(said).toHaveLength(isRoot ? 1 : 0);
    const second = await startPostgres({ dataDir });
    expect(await addRow(second.url)).toBe(2);
    await second.stop();
    if (!linked) return;
    const data = await readlink(dataDir);
    expect(said[0]).toContain(data);
    await rm(data, { recursive: true });
    const anew = await startPostgres({ dataDir });
    expect(await addRow(anew.url)).toBe(1);
    await anew.stop();
    await rm(data, { recursive: true });
  });

  test('data that is there already is not touched, and the way out is told', async () => {
    const closed = join(folder.path, 'closed');
    const dataDir = join(closed, 'postgres');
    await mkdir(closed);
    await chmod(closed, 0o755);
    const first = await startPostgres({ dataDir });
    await first.stop();
    await chmod(closed, 0o700);
    if (isRoot) {
      await expect(startPostgres({ dataDir })).rejects.toThrow(/cannot be reached by .*DATA_DIR/);
      await chmod(closed, 0o755);
    }
    const again = await startPostgres({ dataDir });
    expect(await addRow(again.url)).toBe(1);
    await again.stop();
  });

  test('the program is copied to a place where the user may run it, once', async () => {
    const native = await closedPackage();
    const user = isRoot ? ordinaryUser() : undefined;
    const sources = { ...SOURCES, named: undefined, packaged: () => native, machine: () => [] };
    const { bin } = await findBinaries(user, sources);
    expect(canEnter(join(bin, 'postgres'), user)).toBe(true);
    expect(bin.startsWith(native.root)).toBe(!isRoot);
    const before = await stat(join(bin, 'postgres'));
    expect((await findBinaries(user, sources)).bin).toBe(bin);
    expect((await stat(join(bin, 'postgres'))).ino).toBe(before.ino);
    if (!isRoot) return;
    await rm(join(bin, 'initdb'));
    expect((await findBinaries(user, sources)).bin).toBe(bin);
    await rm(join(bin, '..'), { recursive: true });
    const left = (await readdir(tmpdir())).filter((name) => name.includes(native.version));
    expect(left).toEqual([]);
  });
});

/** The installed package without its library links, as npm leaves it with --ignore-scripts. */
async function closedPackage(): Promise<NativePackage> {
  const installed = SOURCES.packaged();
  if (installed === undefined) throw new Error('The optional dependencies are not installed.');
  const root = join(folder.path, 'closed', 'package');
  await mkdir(join(folder.path, 'closed'), { mode: 0o700 });
  await cp(installed.root, root, {
    recursive: true,
    filter: async (path) => !(await lstat(path)).isSymbolicLink(),
  });
  return { root, version: `test-${process.pid}-${Date.now()}` };
}

describe('without a Postgres to run', () => {
  const nothing = { named: undefined, packaged: () => undefined, machine: () => [] };

  test('one sentence names the three ways out', async () => {
    await expect(findBinaries(undefined, nothing)).rejects.toThrow(
      /^There is no Postgres to start: install the optional dependencies .*, or install PostgreSQL .*, or set DATABASE_URL [^.]*\.$/,
    );
  });

  test('a PG_BIN without a Postgres in it is named, and nothing else is tried', async () => {
    const sources = { ...SOURCES, named: folder.path };
    await expect(findBinaries(undefined, sources)).rejects.toThrow(`PG_BIN is ${folder.path}`);
  });

  test('the first that runs is taken', async () => {
    const { bin } = await findBinaries(undefined);
    const sources = { ...nothing, machine: () => [folder.path, bin] };
    expect((await findBinaries(undefined, sources)).bin).toBe(bin);
  });
});
