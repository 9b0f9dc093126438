import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '../../..');
const FOLDER = join(ROOT, 'node_modules/.cache/semel-chaos');

/** One file of the server as it is now: it is started so often that reading sources would take long. */
export async function bundleServer(): Promise<string> {
  const file = join(FOLDER, `server-${process.pid}.mjs`);
  await mkdir(FOLDER, { recursive: true });
  await build({
    entryPoints: [join(import.meta.dirname, 'server-process.ts')],
    outfile: file,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    keepNames: true,
    logLevel: 'warning',
  });
  const scripts = join(ROOT, 'src/redis');
  for (const name of await readdir(scripts)) {
    if (name.endsWith('.lua')) await copyFile(join(scripts, name), join(FOLDER, name));
  }
  return file;
}
