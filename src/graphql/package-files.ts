import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file of this package by its path from the root, from `src/` and from `dist/` alike. */
export function fileInPackage(path: string): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, path))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`${path} is missing from this installation.`);
    folder = parent;
  }
  return join(folder, path);
}
