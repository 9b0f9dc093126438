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

/** Lends a headless browser with a fresh profile, and ends it afterwards. */
export async function withBrowser<T>(work: (browser: Browser) => Promise<T>): Promise<T> {
  const browser = await chromium.launch({ executablePath: executable(), args: FLAGS });
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

/** A page of its own context whose requests elsewhere, policy violations and errors are noted. */
export async function openWatched(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({ baseURL: url, ...options });
  const page = await context.newPage();
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
  page.on('pageerror', (error) => problems.push(`error: ${error.message}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' || isRefusal(message.text(), message.location().url)) return;
    problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  return { page, problems };
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
