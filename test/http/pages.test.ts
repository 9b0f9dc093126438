import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Pages } from '../../src/http/index.ts';

const PAGE = `<!doctype html><p>${'A page that is worth compressing. '.repeat(100)}</p>`;
const folder = mkdtempSync(join(tmpdir(), 'semel-pages-'));
writeFileSync(join(folder, 'index.html'), PAGE);
const pages = new Pages({ playground: folder, demoApiKey: undefined });
const server = createServer(({ url = '' }, response) => void pages.serve(url, response));

beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => new Promise((resolve) => server.close(resolve)));

const get = (headers: Record<string, string>) =>
  new Promise<{ encoding: string | undefined; bytes: Buffer }>((resolve, reject) => {
    const { port } = server.address() as AddressInfo;
    request({ port, host: '127.0.0.1', path: '/playground', headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk) => chunks.push(chunk));
      response.on('end', () => {
        resolve({ encoding: response.headers['content-encoding'], bytes: Buffer.concat(chunks) });
      });
    })
      .on('error', reject)
      .end();
  });

test('a page is compressed for who can read that, and for nobody else', async () => {
  const zipped = await get({ 'accept-encoding': 'br, gzip' });
  expect(zipped.encoding).toBe('gzip');
  expect(gunzipSync(zipped.bytes).toString()).toBe(PAGE);
  expect(zipped.bytes.length).toBeLessThan(PAGE.length / 4);
  const plain = await get({});
  expect(plain.encoding).toBeUndefined();
  expect(plain.bytes.toString()).toBe(PAGE);
});
