import { spawnSync } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeTempDir, type TempDir } from '../support/temp-dir.ts';

const ROOT = join(import.meta.dirname, '../..');

/** The gates are only worth what they refuse: each is shown a fault that it must find. */
let house: TempDir;

beforeAll(async () => {
  house = await makeTempDir();
  const biome = JSON.parse(await readFile(join(ROOT, 'biome.json'), 'utf8')) as object;
  await put('biome.json', JSON.stringify({ ...biome, $schema: undefined, vcs: undefined }));
  await put('tsconfig.json', await readFile(join(ROOT, 'tsconfig.json'), 'utf8'));
  await put('package.json', '{ "type": "module" }');
  await symlink(join(ROOT, 'node_modules'), join(house.path, 'node_modules'));
  await symlink(join(ROOT, '.dependency-cruiser.cjs'), join(house.path, '.dependency-cruiser.cjs'));
});

afterAll(() => house.remove());

async function put(path: string, text: string): Promise<void> {
  const file = join(house.path, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}

function run(command: string, ...args: readonly string[]): { status: number | null; said: string } {
  const bin = join(ROOT, 'node_modules/.bin', command);
  const { status, stdout, stderr } = spawnSync(bin, args, { cwd: house.path, encoding: 'utf8' });
  return { status, said: stdout + stderr };
}

describe('the linter finds', () => {
  const faults: readonly [string, string][] = [
    ['noFloatingPromises', 'const go = async () => {};\nexport function f() {\n  go();\n}\n'],
    ['noMisusedPromises', 'const is = async () => true;\nexport const f = () => (is() ? 1 : 2);\n'],
    ['noExplicitAny', 'export const f = (x: any) => x;\n'],
    ['noNonNullAssertion', 'export const f = (x?: string) => x!;\n'],
    [
      'useExhaustiveSwitchCases',
      "export function f(x: 'a' | 'b') {\n  switch (x) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}\n",
    ],
  ];

  test.each(faults)('%s', async (rule, text) => {
    const file = `src/${rule}.ts`;
    await put(file, text);
    const { status, said } = run('biome', 'lint', file);
    expect(said).toContain(rule);
    expect(status).not.toBe(0);
  });
});

test('the compiler finds an unchecked index, and a property that is set to undefined', async () => {
  await put(
    'src/strict.ts',
    'export const first = (all: string[]): string => all[0];\nexport const o: { x?: string } = { x: undefined };\n',
  );
  const { status, said } = run('tsc', '-p', '.', '--noEmit');
  expect(said).toMatch(/TS2322[\s\S]*TS2375/);
  expect(status).not.toBe(0);
});

describe('the room rules find', () => {
  const faults: readonly [string, string, string][] = [
    [
      'room-payments',
      'src/payments/a.ts',
      "import type { X } from '../postgres/index.ts';\nexport type Y = X;\n",
    ],
    [
      'front-doors-only',
      'src/graphql/b.ts',
      "import { x } from '../payments/deep.ts';\nexport const y = x;\n",
    ],
    [
      'nobody-imports-main',
      'src/http/c.ts',
      "import { x } from '../main/index.ts';\nexport const y = x;\n",
    ],
  ];

  test.each(faults)('%s', async (rule, path, text) => {
    await put('src/postgres/index.ts', 'export type X = 1;\n');
    await put('src/payments/deep.ts', 'export const x = 1;\n');
    await put('src/main/index.ts', 'export const x = 1;\n');
    await put(path, text);
    const config = ['--config', '.dependency-cruiser.cjs', '--output-type', 'err'];
    const { status, said } = run('depcruise', path, ...config);
    expect(said).toContain(rule);
    expect(status).not.toBe(0);
  });
});
