import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { snippetsOf } from '../package/snippets.ts';
import { createEndpoint, deliveries } from '../support/endpoints.ts';
import { eventually, freshKey, paid, pay, type Target } from '../support/pay.ts';
import { makeTempDir } from '../support/temp-dir.ts';
import { startTestServer } from '../support/with-server.ts';
import { QUICK } from './world.ts';

const MODULES = join(import.meta.dirname, '../../node_modules');

/** As a newcomer does: nothing is set, and the receiver is the one of the guide. */
test('with nothing set, the receiver of the guide gets what it should, also after a restart', async () => {
  const folder = await makeTempDir();
  const data = join(folder.path, 'data');
  const env = { ...QUICK, DATA_DIR: data, DEMO_API_KEY: '' };
  let server = await startTestServer({ env });
  const port = await freePort();
  try {
    const demo = await demoOf(server);
    const { endpoint, secret } = await createEndpoint(demo, `http://127.0.0.1:${port}/`);
    const guide = await runGuide(folder.path, { PORT: `${port}`, WEBHOOK_SECRET: secret });
    try {
      const first = paid(await pay(demo, freshKey())).payment;
      const lines = () => Promise.resolve(guide.output().trim().split('\n'));
      await eventually(lines, (said) => said.includes(`charge.succeeded ${first?.id}`));
      expect(await server.stop()).toBe(0);
      server = await startTestServer({ env });
      const again = { ...demo, url: server.url };
      const second = paid(await pay(again, freshKey())).payment;
      await eventually(lines, (said) => said.includes(`charge.succeeded ${second?.id}`));
      const told = await eventually(
        async () => await deliveries(again, endpoint.id),
        (all) => all?.every(({ status }) => status === 'DELIVERED') ?? false,
      );
      expect(told).toHaveLength(2);
      // What is not signed with the secret is nobody's.
      const forged = { method: 'POST', body: '{}', headers: { 'webhook-id': 'x' } };
      expect((await fetch(`http://127.0.0.1:${port}/`, forged)).status).toBe(400);
    } finally {
      guide.stop();
    }
  } finally {
    await server.stop();
    await folder.remove();
  }
}, 240_000);

async function demoOf(server: { url: string; output(): string }): Promise<Target> {
  const apiKey = await eventually(
    async () => /API key of the demo merchant: (\S+)\n/.exec(server.output())?.[1],
    (key) => key !== undefined,
  );
  return { url: server.url, apiKey: apiKey ?? '' };
}

async function runGuide(folder: string, env: Readonly<Record<string, string>>) {
  const receiver = (await snippetsOf('docs/webhooks.md')).get('receiver.ts') ?? '';
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(join(folder, 'receiver.ts'), receiver);
  await symlink(MODULES, join(folder, 'node_modules'));
  const child = spawn(process.execPath, ['--import', 'tsx', 'receiver.ts'], {
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    output += chunk;
  });
  await eventually(
    async () => (await fetch(`http://127.0.0.1:${env['PORT']}/`).catch(() => undefined))?.status,
    (status) => status === 400,
  );
  return { output: () => output, stop: () => child.kill() };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
