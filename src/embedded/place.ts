import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, chmod, mkdir, readlink, realpath, rmdir, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { canEnter, chooseUser, type User } from './user.ts';

/** Where root keeps the data when the place asked for is closed to the user Postgres runs as. */
const OPEN_HOME = '/var/lib/semel';

export interface Place {
  /** The folder the data really lies in, links followed; its parent exists, itself perhaps not. */
  readonly data: string;
  readonly user: User | undefined;
}

/**
 * Settles where the data lies and who works on it. Under a folder that user cannot pass (root's
 * home is 0700) the data moves to an open home and a link to it stays at the place asked for.
 */
export async function findPlace(dataDir: string, log: (line: string) => void): Promise<Place> {
  const asked = await followed(resolve(dataDir)).catch((error: unknown) => refuse(dataDir, error));
  const user = chooseUser(asked);
  await access(dirname(asked), constants.W_OK).catch((error: unknown) => refuse(dataDir, error));
  if (canEnter(dirname(asked), user)) return { data: asked, user };
  const id = createHash('sha256').update(asked).digest('hex').slice(0, 16);
  const data = join(OPEN_HOME, id);
  // The umask may have closed what mkdir has just made.
  if ((await mkdir(OPEN_HOME, { recursive: true })) !== undefined) await chmod(OPEN_HOME, 0o755);
  await linkTo(data, asked, user);
  log(`The data of ${asked} is kept in ${data}: the user ${user?.name} of Postgres may not enter.`);
  return { data, user };
}

function refuse(dataDir: string, error: unknown): never {
  const { code } = error as NodeJS.ErrnoException;
  throw new Error(
    `The data cannot be kept in ${dataDir} (${code}): set DATA_DIR to a folder this user can write to, or set DATABASE_URL.`,
  );
}

/** The path with links followed, a link to a folder that is gone (and will be made anew) too. */
async function followed(path: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true });
  const direct = join(await realpath(dirname(path)), basename(path));
  const target = await readlink(direct).catch(() => undefined);
  return target === undefined ? direct : followed(resolve(dirname(direct), target));
}

async function linkTo(data: string, asked: string, user: User | undefined): Promise<void> {
  if ((await stat(asked).catch(() => undefined)) !== undefined) {
    await rmdir(asked).catch(() => {
      throw new Error(
        `The data in ${asked} cannot be reached by ${user?.name}, the user Postgres runs as: move it to a folder open to that user and set DATA_DIR, or set DATABASE_URL.`,
      );
    });
  }
  await symlink(data, asked);
}
