import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Control } from '../simulation/controls.ts';
import { bundled } from '../simulation/mutant.ts';
import { planted } from '../simulation/planting.ts';

export type Product = typeof import('./product.ts');

/** A build of the product, with or without a bug. */
export interface Build {
  readonly product: Product;
  /** Its migrations. */
  readonly migrations: string;
  /** `semel`, to be run by node. */
  readonly cli: string;
  remove(): Promise<void>;
}

const ROOT = join(import.meta.dirname, '../../..');
const EXTERNAL = { packages: 'external' } as const;

/** Within the repository, so that its packages are found. The server's file is built where it is asked for. */
export async function buildProduct(control: Control | undefined, withCli: boolean): Promise<Build> {
  const name = control?.id ?? 'clean';
  const folder = join(ROOT, 'node_modules/.cache/semel-controls', `${process.pid}-${name}`);
  await mkdir(folder, { recursive: true });
  const migrations = join(folder, 'drizzle');
  await cp(join(ROOT, 'drizzle'), migrations, { recursive: true });
  for (const file of await readdir(join(ROOT, 'src/redis'))) {
    if (file.endsWith('.lua')) await cp(join(ROOT, 'src/redis', file), join(folder, file));
  }
  const { code, texts } = split(control);
  for (const plant of texts) {
    const file = plant.file.replace(/^src\/redis\//, '');
    const path = join(folder, file);
    await writeFile(path, planted(await readFile(path, 'utf8'), plant, name));
  }
  const entry = 'test/chaos/controls/product.ts';
  const cli = join(folder, 'cli.mjs');
  const server = control?.plants.some(({ file }) => file.startsWith('src/graphql')) ?? false;
  const product = (await bundled(
    server ? undefined : code,
    entry,
    join(folder, 'product.mjs'),
    EXTERNAL,
  )) as Product;
  if (withCli) await writeCli(code, cli);
  return { product, migrations, cli, remove: () => rm(folder, { recursive: true, force: true }) };
}

/** Scripts and migrations are files that the product reads; the rest is code. */
function split(control: Control | undefined) {
  const plants = control?.plants ?? [];
  const texts = plants.filter(({ file }) => !file.endsWith('.ts'));
  const code =
    control === undefined
      ? undefined
      : { ...control, plants: plants.filter((one) => !texts.includes(one)) };
  return { code, texts };
}

async function writeCli(control: Control | undefined, cli: string): Promise<void> {
  const { build } = await import('esbuild');
  const { BUNDLED, planting } = await import('../simulation/planting.ts');
  const { plugin, check } = await planting(control);
  await build({
    entryPoints: ['src/main/cli.ts'],
    outfile: cli,
    ...BUNDLED,
    plugins: [plugin],
    ...EXTERNAL,
  });
  check();
}
