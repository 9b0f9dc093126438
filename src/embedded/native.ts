import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { canEnter, type User } from './user.ts';

/** An installed package of Postgres' own binaries. */
export interface NativePackage {
  readonly root: string;
  readonly version: string;
}

/**
 * The folder to run the package's binaries from: the package itself, or a copy of it where the user
 * may not enter the package (code in root's home) or its library links can be made by nobody.
 */
export async function usableNative(found: NativePackage, user: User | undefined): Promise<string> {
  const native = join(found.root, 'native');
  const links = missingLinks(found.root);
  if (canEnter(join(native, 'bin', 'postgres'), user) && makeLinks(found.root, links))
    return native;
  return copyOf(found, user);
}

interface LibraryLink {
  readonly source: string;
  readonly target: string;
}

/** npm packs no links; the package makes them after install, which --ignore-scripts leaves out. */
function missingLinks(root: string): LibraryLink[] {
  const list = join(root, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return [];
  const links = JSON.parse(readFileSync(list, 'utf8')) as LibraryLink[];
  return links.filter(({ target }) => !existsSync(join(root, target)));
}

/** False if the folder may not be written to. */
function makeLinks(root: string, links: readonly LibraryLink[]): boolean {
  try {
    for (const { source, target } of links) {
      symlinkSync(relative(dirname(target), source), join(root, target));
    }
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return makeLinks(root, missingLinks(root));
    if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS') return false;
    throw error;
  }
}

/** Named by version and by who made it, so that a later start finds it and no other user's. */
async function copyOf({ root, version }: NativePackage, user: User | undefined): Promise<string> {
  const folder = [tmpdir(), '/var/tmp', '/tmp'].find((path) => canEnter(path, user)) ?? tmpdir();
  const name = `semel-postgres-${version}-${process.arch}-${process.getuid?.() ?? 0}`;
  const copy = join(folder, name);
  const native = join(root, 'native');
  if (isWhole(native, copy)) return copy;
  const draft = `${copy}.${randomUUID()}`;
  await copyTree(native, join(draft, 'native'));
  makeLinks(draft, missingLinks(draft));
  const old = `${draft}.old`;
  await rename(copy, old).catch(() => {});
  await rename(join(draft, 'native'), copy).catch((error: unknown) => {
    if (!isWhole(native, copy)) throw error;
  });
  for (const path of [draft, old]) await rm(path, { recursive: true, force: true });
  return copy;
}

/**
 * True if the copy is ours alone to write and complete: temporary folders are open to everybody
 * (who could have put anything there under this name) and swept file by file.
 */
function isWhole(native: string, copy: string): boolean {
  const found = statSync(copy, { throwIfNoEntry: false });
  if (found === undefined || found.uid !== process.getuid?.() || (found.mode & 0o022) !== 0) {
    return false;
  }
  return filesOf(native).every((file) => {
    const theirs = statSync(join(copy, file), { throwIfNoEntry: false });
    return theirs?.size === statSync(join(native, file)).size;
  });
}

function filesOf(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return files.map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/** Readable by all, whatever the umask of the install was. */
async function copyTree(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  await chmod(to, 0o755);
  for (const name of readdirSync(from)) {
    const [source, target] = [join(from, name), join(to, name)];
    const found = await lstat(source);
    if (found.isDirectory()) await copyTree(source, target);
    else if (found.isSymbolicLink()) await symlink(await readlink(source), target);
    else {
      await copyFile(source, target);
      await chmod(target, (found.mode & 0o100) === 0 ? 0o644 : 0o755);
    }
  }
}
