import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { nodeEntry, startChild } from '../../src/embedded/index.ts';
import { isAlive } from '../../src/embedded/processes.ts';
import { makeTempDir, type TempDir } from '../support/temp-dir.ts';
import { untilGone } from './app-process.ts';

let folder: TempDir;
beforeEach(async () => {
  folder = await makeTempDir();
});
afterEach(() => folder.remove());

const SERVE = `
  console.log('warming up');
  console.log(JSON.stringify({ url: 'http://127.0.0.1:1' }));
  console.error('at work');
  process.stdin.on('end', () => process.exit(0)).resume();
`;

function inline(code: string) {
  return { command: process.execPath, args: ['-e', code] };
}

test('a child tells its URL and ends when it is told to', async () => {
  const said: string[] = [];
  const child = await startChild({ ...inline(SERVE), log: (line) => said.push(line) });
  expect(child.url).toBe('http://127.0.0.1:1');
  await expect.poll(() => said).toEqual(expect.arrayContaining(['warming up', 'at work']));
  const ended = new Promise((resolve) => child.onExit(resolve));
  expect(isAlive(child.pid)).toBe(true);
  await child.stop();
  expect(await ended).toBeNull();
  expect(isAlive(child.pid)).toBe(false);
  await child.stop();
});

test('a child that fails says why', async () => {
  const failing = startChild(inline(`console.error('no room'); process.exit(3);`));
  await expect(failing).rejects.toThrow(/ended before it was ready \(exit code 3\).*no room/s);
  await expect(startChild({ command: '/nowhere/node', args: [] })).rejects.toThrow(/ENOENT/);
});

test('a child ends with its parent, kill -9 included', async () => {
  const room = fileURLToPath(new URL('../../src/embedded/index.ts', import.meta.url));
  await writeFile(join(folder.path, 'package.json'), '{ "type": "module" }');
  const parent = join(folder.path, 'parent.ts');
  await writeFile(
    parent,
    `import { startChild } from ${JSON.stringify(pathToFileURL(room).href)};
    const child = await startChild(${JSON.stringify(inline(SERVE))});
    console.log(child.pid);
    setInterval(() => {}, 60_000);`,
  );
  const { command, args } = nodeEntry(pathToFileURL(parent).href, './parent');
  const running = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = await once(running.stdout, 'data');
  const pid = Number(line);
  expect(isAlive(pid)).toBe(true);
  running.kill('SIGKILL');
  await untilGone(pid);
});

test('an entry keeps the extension of whoever asks for it', () => {
  const built = nodeEntry('file:///app/dist/main/cli.js', '../simulator/main');
  expect(built.args).toEqual(['/app/dist/simulator/main.js']);
  const source = nodeEntry('file:///app/src/main/cli.ts', '../simulator/main');
  expect(source.args.at(-1)).toBe('/app/src/simulator/main.ts');
  expect(source.args).toHaveLength(3);
});
