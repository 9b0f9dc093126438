import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { extname, join, relative, sep } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { send, sendText } from './answer.ts';

export interface PagesOptions {
  /** The folder of the built playground, or undefined to serve none. */
  readonly playground: string | undefined;
  /** Given away to the pages; on the demo only. */
  readonly demoApiKey: string | undefined;
  /** The demo's shop, or undefined to serve none. */
  readonly checkout?: Checkout | undefined;
}

export interface Checkout {
  /** The folder of the built page. */
  readonly folder: string;
  /** How often the PSP has charged under an idempotency key of the demo merchant. */
  readonly charges: (idempotencyKey: string) => Promise<number>;
}

/** A page's files, and where they are served. */
interface Folder {
  /** A path such as `/playground`. */
  readonly at: string;
  readonly folder: string;
  readonly policy: string;
}

interface Place {
  readonly path: string;
  readonly policy: string;
}

interface Page {
  readonly policy: string;
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
/** Everything comes from here, and nothing is inline. */
const STRICT = [
  "default-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');
/** The playground's editor makes its workers and styles by itself. */
const EDITOR = [
  STRICT,
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "worker-src 'self' blob:",
  "font-src 'self' data:",
  "img-src 'self' data:",
  "connect-src 'self'",
].join('; ');

const KEY = /^[\x21-\x7e]{1,255}$/;

/** The self-hosted pages: a few files each. */
export class Pages {
  readonly #options: PagesOptions;
  readonly #served: readonly Folder[];
  /** Where each file is; it is read when it is first asked for. */
  readonly #places = new Map<string, Place>();
  readonly #read = new Map<string, Page>();

  constructor(options: PagesOptions) {
    this.#options = options;
    const { playground, checkout } = options;
    const folders = [
      { at: '/playground', folder: playground, policy: EDITOR },
      { at: '/checkout', folder: checkout?.folder, policy: STRICT },
    ];
    this.#served = folders.filter((one): one is Folder => isBuilt(one.folder));
    for (const { at, folder, policy } of this.#served) {
      for (const path of filesBelow(folder)) {
        const name = relative(folder, path).split(sep).join('/');
        this.#places.set(`${at}/${name}`, { path, policy });
      }
    }
  }

  /** True if there is something to be seen at a path such as `/playground`. */
  serves(at: string): boolean {
    return this.#served.some((folder) => folder.at === at);
  }

  serve(path: string, response: ServerResponse, search = ''): Promise<void> | void {
    if (path === '/checkout/charges' && this.serves('/checkout')) {
      return this.#charges(new URLSearchParams(search).get('key') ?? '', response);
    }
    const page = this.#find(path);
    if (page === undefined) sendText(response, 404, 'Not here.\n');
    else if (typeof page === 'string') response.writeHead(302, { location: page + search }).end();
    else sendPage(response, page);
  }

  /** The page at a path, or where to go instead. */
  #find(path: string): Page | string | undefined {
    if (path === '/' || path === '/graphql') {
      return this.serves('/playground') ? '/playground' : undefined;
    }
    const folder = this.#served.find(({ at }) => path === at || path.startsWith(`${at}/`));
    if (folder === undefined) return undefined;
    const { at, policy } = folder;
    if (path === `${at}/`) return at;
    if (path === `${at}/demo.json`) return this.#demo(policy);
    return this.#page(path === at ? `${at}/index.html` : path);
  }

  #demo(policy: string): Page {
    const bytes = Buffer.from(JSON.stringify({ apiKey: this.#options.demoApiKey ?? null }));
    return { bytes, policy, type: TYPES['.json'] ?? '', gzipped: false, caching: 'no-store' };
  }

  #page(name: string): Page | undefined {
    const place = this.#places.get(name);
    if (place === undefined) return undefined;
    const page = this.#read.get(name) ?? readPage(place);
    this.#read.set(name, page);
    return page;
  }

  async #charges(key: string, response: ServerResponse): Promise<void> {
    if (!KEY.test(key))
      return sendText(response, 400, 'key is needed: 1 to 255 ASCII characters.\n');
    const executions = await this.#options.checkout?.charges(key);
    send(response, 200, JSON.stringify({ executions }), [
      ['content-type', TYPES['.json'] ?? ''],
      ['cache-control', 'no-store'],
    ]);
  }
}

function sendPage(response: ServerResponse, page: Page): void {
  const gzipped = page.gzipped && /\bgzip\b/.test(String(response.req.headers['accept-encoding']));
  const bytes = page.gzipped && !gzipped ? gunzipSync(page.bytes) : page.bytes;
  response.writeHead(200, {
    'content-type': page.type,
    'content-length': bytes.length,
    ...(gzipped ? { 'content-encoding': 'gzip' } : {}),
    vary: 'accept-encoding',
    'cache-control': page.caching,
    'content-security-policy': page.policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  });
  response.end(bytes);
}

function isBuilt(folder: string | undefined): boolean {
  return folder !== undefined && existsSync(join(folder, 'index.html'));
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder)
    .map((name) => join(folder, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesBelow(path) : [path]));
}

function readPage({ path, policy }: Place): Page {
  const bytes = readFileSync(path);
  const gzipped = bytes.length > 1_024;
  const hashed = path.includes(`${sep}assets${sep}`);
  const caching = hashed ? 'public, max-age=31536000, immutable' : 'no-cache';
  const type = TYPES[extname(path)] ?? 'application/octet-stream';
  return { policy, type, gzipped, caching, bytes: gzipped ? gzipSync(bytes) : bytes };
}
