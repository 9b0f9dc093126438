import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { BuildOptions, Plugin } from 'esbuild';
import type { Control, Plant } from './controls.ts';

/** One module and all that it needs, as Node runs it. */
export const BUNDLED = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  keepNames: true,
  logLevel: 'error',
} as const satisfies BuildOptions;

/**
 * A bundler's plugin that puts a bug into the sources; `check` says afterwards whether all of it is in.
 *
 * @throws Error if an expression is not in its file exactly once
 */
export async function planting(
  control: Pick<Control, 'name' | 'plants'> | undefined,
): Promise<{ readonly plugin: Plugin; readonly check: () => void }> {
  const { name = '', plants = [] } = control ?? {};
  const texts = new Map<string, string>();
  for (const plant of plants.filter(({ file }) => file.endsWith('.ts'))) {
    const path = resolve(plant.file);
    texts.set(path, planted(texts.get(path) ?? (await readFile(path, 'utf8')), plant, name));
  }
  const met = new Set<string>();
  const plugin: Plugin = {
    name: 'plant',
    setup: (bundler) => {
      bundler.onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const contents = texts.get(path);
        if (contents === undefined) return undefined;
        met.add(path);
        return { contents, loader: 'ts' };
      });
    },
  };
  const check = (): void => {
    const missed = [...texts.keys()].filter((path) => !met.has(path));
    if (missed.length > 0) throw new Error(`"${name}": ${missed.join()} is no part of it.`);
  };
  return { plugin, check };
}

/** One text with one bug. */
export function planted(text: string, { file, find, replace }: Plant, name: string): string {
  const parts = text.split(find);
  if (parts.length !== 2) {
    throw new Error(`"${name}" no longer fits ${file}: ${parts.length - 1} matches.`);
  }
  return parts.join(replace);
}
