import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // No name is looked up, so that a page which needs another machine fails here as it would offline.
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
];

/** A headless browser with a fresh profile; whoever asks for it closes it. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: executable(), args: FLAGS });
}

/** Lends a headless browser with a fresh profile, and ends it afterwards. */
export async function withBrowser<T>(work: (browser: Browser) => Promise<T>): Promise<T> {
  const browser = await launchBrowser();
  try {
    return await work(browser);
  } finally {
    await browser.close();
  }
}

export interface WatchedPage {
  readonly page: Page;
  /** What a page that keeps to itself never does: a line for each. */
  readonly problems: readonly string[];
}

export interface WatchOptions extends BrowserContextOptions {
  /** An error that the test itself provokes. */
  readonly provoked?: RegExp;
}

/**
 * A page of its own context. The requests elsewhere, policy violations and errors of all pages of
 * that context are noted.
 */
export async function openWatched(
  browser: Browser,
  url: string,
  { provoked, ...options }: WatchOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ baseURL: url, ...options });
  const problems: string[] = [];
  const { host } = new URL(url);
  await context.addInitScript(
    `addEventListener('securitypolicyviolation', (event) =>
      console.error('policy violated: ' + event.violatedDirective + ' ' + event.blockedURI));`,
  );
  context.on('request', (request) => {
    const asked = new URL(request.url());
    const isLocal = ['data:', 'blob:'].includes(asked.protocol) || asked.host === host;
    if (!isLocal) problems.push(`request to ${asked.host}`);
  });
  context.on('weberror', (error) => problems.push(`error: ${error.error().message}`));
  context.on('console', (message) => {
    if (message.type() !== 'error' || isRefusal(message.text(), message.location().url)) return;
    const problem = `console: ${message.text()} (${message.location().url})`;
    if (provoked?.test(problem) !== true) problems.push(problem);
  });
  return { page: await context.newPage(), problems };
}

/** The browser calls it an error if the API refuses a request; that is the API's good right. */
function isRefusal(text: string, url: string): boolean {
  return url.endsWith('/graphql') && /the server responded with a status of 4\d\d/.test(text);
}

function executable(): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const paths = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  const found = paths.find((path) => existsSync(path));
  if (found === undefined) throw new Error('A browser is needed: apt-get install -y chromium');
  return found;
}
