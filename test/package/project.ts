import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { makeTempDir } from '../support/temp-dir.ts';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../..');
const MODULES = join(ROOT, 'node_modules');

/** What the package is made of, and what its build needs. */
const SOURCES = ['package.json', 'README.md', 'LICENSE', 'schema', 'drizzle', 'src'];
const BUILD = ['tsconfig.json', 'tsconfig.build.json'];

/** What the project has beside the package: its own choice of libraries, and the compiler. */
const OWN = [
  '@apollo/client',
  '@types/node',
  '@types/react',
  '@urql/core',
  'react',
  'rxjs',
  'typescript',
];

export interface Outcome {
  readonly code: number;
  readonly output: string;
}

export interface OutsideProject {
  readonly folder: string;
  /** The packed package. */
  readonly tarball: Buffer;
  readonly manifest: Manifest;
  write(files: Iterable<readonly [name: string, text: string]>): Promise<void>;
  /** Runs Node.js in the project. */
  node(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Outcome>;
  /** @returns the compiler's complaints about the project and the package */
  compile(): Promise<readonly string[]>;
  remove(): Promise<void>;
}

/** As much of `package.json` as is looked at. */
export interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
}

/** Builds and packs the package, and installs the tarball in a project in another place. */
export async function makeOutsideProject(): Promise<OutsideProject> {
  const place = await makeTempDir();
  const packed = await pack(join(place.path, 'package'));
  const folder = join(place.path, 'project');
  const installed = join(folder, 'node_modules/semel');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', packed, '--strip-components=1', '-C', installed]);
  const manifest = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8')) as Manifest;
  // Nothing but what the package declares, so that a dependency that is not declared is missed.
  for (const name of [...Object.keys(manifest.dependencies), ...OWN]) {
    await link(name, join(folder, 'node_modules'));
  }
  return {
    folder,
    manifest,
    tarball: await readFile(packed),
    write: async (files) => {
      for (const [name, text] of files) {
        await mkdir(dirname(join(folder, name)), { recursive: true });
        await writeFile(join(folder, name), text);
      }
    },
    node: (args, env) => outcomeOf(process.execPath, args, folder, env),
    compile: async () => {
      const { output } = await outcomeOf(join(MODULES, '.bin/tsc'), ['-p', '.'], folder);
      // Paths that lead out are those of other libraries.
      return output.split('\n').filter((line) => line !== '' && !line.startsWith('..'));
    },
    remove: () => place.remove(),
  };
}

/** @returns the tarball's path */
async function pack(folder: string): Promise<string> {
  await mkdir(folder);
  for (const name of [...SOURCES, ...BUILD]) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  }
  await symlink(MODULES, join(folder, 'node_modules'));
  await run('npm', ['run', 'build'], { cwd: folder });
  const flags = ['--ignore-scripts', '--json', '--pack-destination', folder];
  const { stdout } = await run('npm', ['pack', ...flags], { cwd: folder });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  return join(folder, filename);
}

async function link(name: string, modules: string): Promise<void> {
  await mkdir(dirname(join(modules, name)), { recursive: true });
  await symlink(join(MODULES, name), join(modules, name)).catch((error) => {
    if (error.code !== 'EEXIST') throw error;
  });
}

async function outcomeOf(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const { NODE_ENV: _, VITEST: __, NODE_OPTIONS: ___, ...inherited } = process.env;
  try {
    const { stdout } = await run(command, [...args], { cwd, env: { ...inherited, ...env } });
    return { code: 0, output: stdout };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, output: stdout + stderr };
  }
}
