import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { extname, join, relative, sep } from 'node:path';
import { gzipSync } from 'node:zlib';
import { sendText } from './answer.ts';

export interface PagesOptions {
  /** The folder of the built playground, or undefined to serve none. */
  readonly playground: string | undefined;
  /** Filled into the playground's header editor; on the demo only. */
  readonly demoApiKey: string | undefined;
}

interface Page {
  readonly type: string;
  readonly bytes: Buffer;
  readonly gzipped: boolean;
  readonly caching: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.ttf': 'font/ttf',
  '.woff2': 'font/woff2',
};
/** Everything comes from here; the editor makes its workers and styles by itself. */
const POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "worker-src 'self' blob:",
  "font-src 'self' data:",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

/** The self-hosted playground: a few files. */
export class Pages {
  readonly #options: PagesOptions;
  /** Where each page is; it is read when it is first asked for. */
  readonly #paths = new Map<string, string>();
  readonly #read = new Map<string, Page>();

  constructor(options: PagesOptions) {
    this.#options = options;
    const { playground } = options;
    if (playground === undefined || !existsSync(playground)) return;
    for (const path of filesBelow(playground)) {
      const name = relative(playground, path).split(sep).join('/');
      this.#paths.set(`/playground/${name}`, path);
    }
  }

  /** True if there is a playground to be seen. */
  get served(): boolean {
    return this.#paths.has('/playground/index.html');
  }

  serve(path: string, response: ServerResponse, search = ''): void {
    const page = this.served ? this.#find(path) : undefined;
    if (page === undefined) sendText(response, 404, 'Not here.\n');
    else if (typeof page === 'string') response.writeHead(302, { location: page + search }).end();
    else sendPage(response, page);
  }

  /** The page at a path, or where to go instead. */
  #find(path: string): Page | string | undefined {
    if (path === '/' || path === '/graphql' || path === '/playground/') return '/playground';
    if (path === '/playground/demo.json') return this.#demo;
    return this.#page(path === '/playground' ? '/playground/index.html' : path);
  }

  get #demo(): Page {
    const bytes = Buffer.from(JSON.stringify({ apiKey: this.#options.demoApiKey ?? null }));
    return { bytes, type: TYPES['.json'] ?? '', gzipped: false, caching: 'no-store' };
  }
  #page(name: string): Page | undefined {
    const path = this.#paths.get(name);
    if (path === undefined) return undefined;
    const page = this.#read.get(name) ?? readPage(path);
    this.#read.set(name, page);
    return page;
  }
}

function sendPage(response: ServerResponse, page: Page): void {
  response.writeHead(200, {
    'content-type': page.type,
    'content-length': page.bytes.length,
    ...(page.gzipped ? { 'content-encoding': 'gzip' } : {}),
    'cache-control': page.caching,
    'content-security-policy': POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
  response.end(page.bytes);
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesBelow(path) : [path]));
}

function readPage(path: string): Page {
  const bytes = readFileSync(path);
  const gzipped = bytes.length > 1_024;
  const hashed = path.includes(`${sep}assets${sep}`);
  const caching = hashed ? 'public, max-age=31536000, immutable' : 'no-cache';
  const type = TYPES[extname(path)] ?? 'application/octet-stream';
  return { type, gzipped, caching, bytes: gzipped ? gzipSync(bytes) : bytes };
}
