import { execFileSync, spawnSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { userInfo } from 'node:os';

/** Whom the server's processes run as when that is not ourselves. */
export interface User {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Postgres refuses to run as root, so root lends it a user: the owner of the data if there is data
 * and it is not root's, else `postgres`, else `nobody`. Undefined: run as ourselves.
 * @throws in one sentence if we are a uid without a passwd entry, which initdb cannot live with
 */
export function chooseUser(data: string): User | undefined {
  if (process.getuid?.() === 0) return ableToRun(ownerOf(data) ?? named('postgres') ?? nobody());
  try {
    userInfo();
  } catch {
    const uid = process.getuid?.();
    throw new Error(
      `The embedded Postgres cannot run as uid ${uid}, which has no passwd entry: set DATABASE_URL to a Postgres server, or run as a named user.`,
    );
  }
  return undefined;
}

/** Asks the system, as that user, so that groups, ACLs and folders on the way are all respected. */
export function canEnter(path: string, user: User | undefined): boolean {
  if (user === undefined) return true;
  const { uid, gid } = user;
  const args = ['-c', 'test -x "$1"', 'sh', path];
  return spawnSync('/bin/sh', args, { uid, gid, cwd: '/', stdio: 'ignore' }).status === 0;
}

/** In a locked-down container root may not be allowed to become another user. */
function ableToRun(user: User): User {
  if (canEnter('/', user)) return user;
  throw new Error(
    `The embedded Postgres cannot run as root, and root may not become ${user.name} here: set DATABASE_URL to a Postgres server, or run as an ordinary user.`,
  );
}

function ownerOf(data: string): User | undefined {
  const found = statSync(data, { throwIfNoEntry: false });
  if (found === undefined || found.uid === 0) return undefined;
  return { name: `uid ${found.uid}`, uid: found.uid, gid: found.gid };
}

function nobody(): User {
  const user = named('nobody');
  if (user !== undefined) return user;
  throw new Error(
    'The embedded Postgres cannot run as root, and there is no user postgres or nobody to run it as: set DATABASE_URL to a Postgres server.',
  );
}

function named(name: string): User | undefined {
  try {
    const stdio: ['ignore', 'pipe', 'ignore'] = ['ignore', 'pipe', 'ignore'];
    const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio }));
    return { name, uid: id('-u'), gid: id('-g') };
  } catch {
    return undefined;
  }
}
