import { execFileSync } from 'node:child_process';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { mayConnect } from '../../src/webhooks/destination.ts';
import { Sender } from '../../src/webhooks/index.ts';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';
import { makeTempDir } from '../support/temp-dir.ts';

const NEVER = new AbortController().signal;
const TIMEOUT_MS = 1_000;
const open: { close(): Promise<unknown> }[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

/** Takes this one address for public, so that nothing leaves the machine. */
const PUBLIC_HERE = '127.0.0.2';
const strict = (address: string) => address === PUBLIC_HERE || mayConnect(address, 'off');

function sender(more: Partial<ConstructorParameters<typeof Sender>[0]> = {}): Sender {
  const one = new Sender({ timeoutMs: TIMEOUT_MS, mayConnect: strict, ...more });
  open.push(one);
  return one;
}

async function receiver(host: string): Promise<Receiver> {
  const one = await startReceiver(host);
  open.push(one);
  return one;
}

const v4 = (address: string): LookupAddress[] => [{ address, family: 4 }];
const named = ({ url }: Receiver, name = 'shop.test') => {
  const at = new URL(url);
  at.hostname = name;
  return at.href;
};

test('what is judged is what is connected to: a name that changes its mind is refused', async () => {
  const shop = await receiver('0.0.0.0');
  const answers = [v4(PUBLIC_HERE), v4('127.0.0.1'), v4('169.254.169.254'), v4('::ffff:127.0.0.1')];
  const one = sender({ resolve: async () => answers.shift() ?? [] });
  // Each by a connection of its own.
  shop.answer(status(200, { connection: 'close' }));
  const results = [];
  for (let i = 0; i < 5; i += 1) results.push(await one.send(named(shop), {}, 'x', NEVER));
  expect(results).toMatchObject([
    { kind: 'answered', httpStatus: 200 },
    { kind: 'unanswered', result: 'DESTINATION_REFUSED' },
    { kind: 'unanswered', result: 'DESTINATION_REFUSED' },
    { kind: 'unanswered', result: 'DESTINATION_REFUSED' },
    { kind: 'unanswered', result: 'NOT_RESOLVED' },
  ]);
  expect(shop.received).toHaveLength(1);
});

test('of several addresses only those that may be are connected to', async () => {
  const shop = await receiver('0.0.0.0');
  const seen: string[] = [];
  const one = sender({
    resolve: async () => [...v4('127.0.0.1'), { address: '::1', family: 6 }, ...v4(PUBLIC_HERE)],
    mayConnect: (address) => {
      seen.push(address);
      return strict(address);
    },
  });
  expect(await one.send(named(shop), {}, 'x', NEVER)).toMatchObject({ httpStatus: 204 });
  expect(seen.at(-1)).toBe(PUBLIC_HERE);
});

test.each(['127.0.0.1', '2130706433', '0x7f000001', '127.1', '[::ffff:127.0.0.1]', 'localhost'])(
  'this machine is refused as %s',
  async (host) => {
    const shop = await receiver('0.0.0.0');
    expect(await sender().send(named(shop, host), {}, 'x', NEVER)).toEqual({
      kind: 'unanswered',
      result: 'DESTINATION_REFUSED',
    });
    expect(shop.received).toHaveLength(0);
  },
);

test('a redirect is not followed, and a proxy of the environment is not used', async () => {
  const [shop, inside] = [await receiver(PUBLIC_HERE), await receiver('127.0.0.1')];
  shop.answer(status(302, { location: inside.url }));
  process.env['HTTP_PROXY'] = inside.url;
  try {
    expect(await sender().send(shop.url, {}, 'x', NEVER)).toMatchObject({ httpStatus: 302 });
  } finally {
    delete process.env['HTTP_PROXY'];
  }
  expect(inside.received).toHaveLength(0);
});

test('of an answer without an end only the beginning is read', async () => {
  const shop = await receiver(PUBLIC_HERE);
  shop.answer((_, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write('x'.repeat(8_192)), 1);
    response.on('close', () => clearInterval(timer));
  });
  const reply = await sender().send(shop.url, {}, 'x', NEVER);
  expect(reply).toMatchObject({ kind: 'answered', httpStatus: 200 });
  expect('body' in reply && reply.body.length).toBe(16_384);
});

test('a 2xx counts although its body never ends; no answer at all is given up in time', async () => {
  const shop = await receiver(PUBLIC_HERE);
  shop.answer((_, response) => void response.writeHead(202).write('so far'));
  expect(await sender().send(shop.url, {}, 'x', NEVER)).toMatchObject({
    httpStatus: 202,
    body: 'so far',
  });
  shop.answer(() => {});
  const beganAt = performance.now();
  expect(await sender().send(shop.url, {}, 'x', NEVER)).toEqual({
    kind: 'unanswered',
    result: 'TIMED_OUT',
  });
  expect(performance.now() - beganAt).toBeGreaterThan(TIMEOUT_MS - 50);
});

test('nobody listens, the connection breaks, the name is none: each has its word', async () => {
  const shop = await receiver(PUBLIC_HERE);
  shop.answer((_, response) => response.destroy());
  const results = [await sender().send(shop.url, {}, 'x', NEVER)];
  await shop.close();
  open.pop();
  results.push(await sender().send(shop.url, {}, 'x', NEVER));
  const resolve = () => Promise.reject(new Error('ENOTFOUND'));
  results.push(await sender({ resolve }).send('http://nowhere.test/', {}, 'x', NEVER));
  expect(results).toMatchObject([
    { result: 'NOT_CONNECTED' },
    { result: 'NOT_CONNECTED' },
    { result: 'NOT_RESOLVED' },
  ]);
});

test('a certificate that nobody vouches for is refused', async () => {
  const folder = await makeTempDir();
  const [key, cert] = [join(folder.path, 'key.pem'), join(folder.path, 'cert.pem')];
  const subject = ['-subj', '/CN=shop.test', '-days', '1', '-keyout', key, '-out', cert];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject], {
    stdio: 'ignore',
  });
  let asked = 0;
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, () => {
    asked += 1;
  });
  server.listen(0, PUBLIC_HERE);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const one = sender({ resolve: async () => v4(PUBLIC_HERE) });
  const reply = await one.send(`https://shop.test:${port}/`, {}, 'x', NEVER);
  expect(reply).toEqual({ kind: 'unanswered', result: 'TLS_FAILED' });
  expect(asked).toBe(0);
  server.close();
  await folder.remove();
});

test('whoever stops is not told that it failed', async () => {
  const shop = await receiver(PUBLIC_HERE);
  shop.answer(() => {});
  const stop = new AbortController();
  const reply = sender().send(shop.url, {}, 'x', stop.signal);
  await shop.got(1);
  stop.abort();
  await expect(reply).rejects.toThrow();
});
