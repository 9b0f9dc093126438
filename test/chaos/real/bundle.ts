import { copyFile, cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

const ROOT = join(import.meta.dirname, '../../..');
/** Below the packages, which are not bundled. */
const FOLDER = join(ROOT, 'node_modules/.cache/semel-chaos');
/** What a server reads of its package. */
const READ = ['drizzle', 'schema', 'package.json'];

/** The server as it is now, whatever happens to the sources while a run goes on. */
export interface Bundle {
  /** One file: it is started so often that reading sources would take long. */
  readonly entry: string;
  remove(): Promise<void>;
}

export async function bundleServer(): Promise<Bundle> {
  const folder = join(FOLDER, String(process.pid));
  await mkdir(folder, { recursive: true });
  const entry = join(folder, 'server.mjs');
  await build({
    entryPoints: [join(import.meta.dirname, 'server-process.ts')],
    outfile: entry,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    keepNames: true,
    logLevel: 'warning',
  });
  const scripts = join(ROOT, 'src/redis');
  for (const name of await readdir(scripts)) {
    if (name.endsWith('.lua')) await copyFile(join(scripts, name), join(folder, name));
  }
  for (const name of READ) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  return { entry, remove: () => rm(folder, { recursive: true, force: true }) };
}
