import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { expect, it } from 'vitest';

async function gzipped(names: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: {
      contents: `export { ${names} } from './src/client/index.ts';`,
      resolveDir: process.cwd(),
    },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
  });
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length;
}

it('the core has at most 5 kB, gzipped', async () => {
  expect(await gzipped('createPayClient, memoryStore, unreachable')).toBeLessThanOrEqual(5_000);
});

it('the core and the stock operation have at most 6 kB, gzipped', async () => {
  const names = 'createPayClient, createPayment, memoryStore, unreachable';
  expect(await gzipped(names)).toBeLessThanOrEqual(6_000);
});
