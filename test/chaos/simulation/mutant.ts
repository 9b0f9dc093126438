import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { Control } from './controls.ts';

type World = typeof import('./world.ts');

/**
 * The simulation with one bug planted in the sources it is built from. Without a control: as it is.
 *
 * @throws Error if the expression is not in its file exactly once
 */
export async function worldWith(control: Control, folder: string): Promise<World> {
  const source = await readFile(control.file, 'utf8');
  const parts = source.split(control.find);
  if (parts.length !== 2) {
    throw new Error(
      `"${control.name}" no longer fits ${control.file}: ${parts.length - 1} matches.`,
    );
  }
  const target = resolve(control.file);
  let planted = false;
  const outfile = join(folder, `${control.name.replaceAll(' ', '-')}.mjs`);
  await build({
    entryPoints: ['test/chaos/simulation/world.ts'],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'error',
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
    plugins: [
      {
        name: 'plant',
        setup: (bundler) => {
          bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
            if (path !== target) return undefined;
            planted = true;
            return { contents: parts.join(control.replace), loader: 'ts' };
          });
        },
      },
    ],
  });
  if (!planted) throw new Error(`${control.file} is no part of the simulation.`);
  return import(pathToFileURL(outfile).href) as Promise<World>;
}
