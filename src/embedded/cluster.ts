import { randomBytes } from 'node:crypto';
import { chown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Binaries } from './binaries.ts';
import type { Place } from './place.ts';
import { runWatched } from './watchdog.ts';

/** The one role of the server, and the only one that may connect. */
export const ROLE = 'semel';
const PASSWORD_FILE = 'semel.password';

/** Messages in English (we read some of them), times in UTC, nothing of the caller's PG* settings. */
export const POSTGRES_ENV = {
  LC_ALL: 'C',
  TZ: 'UTC',
  PATH: process.env['PATH'] ?? '/usr/bin:/bin',
};

/**
 * Makes the data folder if there is none. It is built aside and renamed, password file and all: a
 * start that is killed half way leaves nothing that a later start would take for a database.
 * @param synced false leaves the fresh files to the system's cache, for data nobody will miss
 * @returns the password
 */
export async function openCluster(
  place: Place,
  binaries: Binaries,
  synced: boolean,
): Promise<string> {
  const { data } = place;
  await removeDrafts(data);
  const version = await versionOf(data);
  if (version === undefined) return createCluster(place, binaries, synced);
  if (version !== binaries.major) {
    throw new Error(
      `The data in ${data} was written by PostgreSQL ${version}, but the server found is ${binaries.major}: set PG_BIN to the bin folder of version ${version}, or DATA_DIR to another folder.`,
    );
  }
  return readFile(join(data, PASSWORD_FILE), 'utf8').catch(() => {
    throw new Error(`The password file ${join(data, PASSWORD_FILE)} is missing or cannot be read.`);
  });
}

async function createCluster(place: Place, binaries: Binaries, synced: boolean): Promise<string> {
  const draft = `${place.data}.new-${process.pid}`;
  const password = randomBytes(24).toString('base64url');
  const passwordFile = `${draft}.password`;
  await writeFile(passwordFile, password, { mode: 0o600, flag: 'wx' });
  await mkdir(draft, { mode: 0o700 });
  if (place.user !== undefined) {
    for (const path of [passwordFile, draft]) await chown(path, place.user.uid, place.user.gid);
  }
  await runWatched({
    command: join(binaries.bin, 'initdb'),
    args: initdbArgs(draft, passwordFile, binaries.major, synced),
    signal: 'TERM',
    user: place.user,
    env: POSTGRES_ENV,
  });
  await rename(passwordFile, join(draft, PASSWORD_FILE));
  await rename(draft, place.data);
  return password;
}

function initdbArgs(data: string, passwordFile: string, major: number, synced: boolean): string[] {
  const locale = ['--encoding=UTF8', '--locale=C'];
  if (major >= 17) locale.push('--locale-provider=builtin', '--builtin-locale=C.UTF-8');
  const sync = synced ? [] : ['--no-sync'];
  const access = [`--username=${ROLE}`, `--pwfile=${passwordFile}`, '--auth=scram-sha-256'];
  return ['-D', data, ...access, ...locale, ...sync];
}

/** The major version that wrote the data; undefined if there is none. */
async function versionOf(data: string): Promise<number | undefined> {
  try {
    return Number.parseInt(await readFile(join(data, 'PG_VERSION'), 'utf8'), 10);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code !== 'EACCES') throw error;
    throw new Error(`The data in ${data} belongs to another user: set DATA_DIR to another folder.`);
  }
}

async function removeDrafts(data: string): Promise<void> {
  const parent = dirname(data);
  for (const name of await readdir(parent)) {
    if (!name.startsWith(`${basename(data)}.new-`)) continue;
    await rm(join(parent, name), { recursive: true, force: true });
  }
}
