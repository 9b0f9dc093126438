import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type BuildOptions, build } from 'esbuild';
import type { Control } from './controls.ts';
import { BUNDLED, planting } from './planting.ts';

type World = typeof import('./world.ts');

/** The simulation with one bug planted in the sources it is built from. */
export function worldWith(control: Control, folder: string): Promise<World> {
  const entry = 'test/chaos/simulation/world.ts';
  return bundled(control, entry, join(folder, `${control.name.replaceAll(' ', '-')}.mjs`), {
    banner: {
      js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
    },
  }) as Promise<World>;
}

/**
 * Builds one file of a module and all that it needs, with the bug in it, and loads it.
 *
 * @throws Error if an expression is not in its file exactly once, or its file is no part of it
 */
export async function bundled(
  control: Pick<Control, 'name' | 'plants'> | undefined,
  entry: string,
  outfile: string,
  more: BuildOptions,
): Promise<unknown> {
  const { plugin, check } = await planting(control);
  await build({
    entryPoints: [entry],
    outfile,
    ...BUNDLED,
    plugins: [plugin],
    ...more,
  });
  check();
  return import(pathToFileURL(outfile).href);
}
