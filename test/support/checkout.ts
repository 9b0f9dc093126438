import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser, openWatched, type WatchOptions } from './browser.ts';
import { startTestServer, type TestServer } from './with-server.ts';
import { startTestSimulator, type TestSimulator } from './with-simulator.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Short times in the order that the configuration demands; recovery is worth waiting for. */
const QUICK = {
  PSP_TIMEOUT_MS: '2000',
  CLOCK_DRIFT_MS: '500',
  LOCK_GRACE_MS: '1500',
  RECOVER_AFTER_MS: '5000',
  DRAIN_MS: '5000',
};

/** The PSP, the server with the page on it, and a browser. */
export interface Street {
  readonly simulator: TestSimulator;
  readonly server: TestServer;
  /**
   * A shop that has just been opened by a new buyer, for `work`; nothing from elsewhere is loaded,
   * and no error is made, or it throws.
   *
   * @param method what the bank does
   */
  shopping(
    method: string,
    work: (shop: Shop) => Promise<void>,
    options?: WatchOptions,
  ): Promise<void>;
  shoot(page: Page, name: string): Promise<void>;
  end(): Promise<void>;
}

export async function openStreet(): Promise<Street> {
  buildCheckout();
  const simulator = await startTestSimulator();
  const [server, browser]: [TestServer, Browser] = await Promise.all([
    startTestServer({ env: { ...QUICK, SIMULATOR_URL: simulator.url } }),
    launchBrowser(),
  ]);
  const screenshots = mkdtempSync(join(tmpdir(), 'semel-checkout-'));
  return {
    simulator,
    server,
    shopping: async (method, work, options = { viewport: { width: 1180, height: 960 } }) => {
      const { page, problems } = await openWatched(browser, server.url, options);
      await work(await new Shop(page).visit(method));
      await page.context().close();
      if (problems.length > 0) throw new Error(problems.join('\n'));
    },
    shoot: async (page, name) => {
      await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
    },
    end: async () => {
      console.log(`Screenshots: ${screenshots}`);
      await browser.close();
      await server.stop();
      await simulator.stop();
    },
  };
}

/** Bundles the page as it is served. */
function buildCheckout(): void {
  const { NODE_ENV: _, VITEST: __, ...env } = process.env;
  const vite = ['vite', 'build', '--config', 'src/checkout/vite.config.ts', '--logLevel', 'warn'];
  execFileSync('npx', vite, { cwd: ROOT, env });
}

export interface Numbers {
  readonly pressed: number;
  readonly sent: number;
  readonly charges: number;
}

/** The shop in one tab, as its buyer sees it. */
export class Shop {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** @param method what the bank does */
  async visit(method?: string): Promise<this> {
    await this.page.goto(`/checkout${method === undefined ? '' : `?method=${method}`}`);
    await this.opened();
    return this;
  }

  async opened(): Promise<void> {
    await this.page.getByText(/^Keys are kept in indexedDB/).waitFor();
  }

  /** A second tab of the same browser. */
  async secondTab(): Promise<Shop> {
    return new Shop(await this.page.context().newPage()).visit();
  }

  get pay() {
    return this.page.getByRole('button', { name: /^Pay / });
  }

  get outcome() {
    return this.page.getByRole('status');
  }

  async says(text: string | RegExp): Promise<void> {
    await this.outcome.getByText(text).first().waitFor();
  }

  button(name: string) {
    return this.page.getByRole('button', { name, exact: true });
  }

  async bank(token: string): Promise<void> {
    await this.page.getByLabel('What the bank does').selectOption(token);
  }

  async loseAnswers(which: 'never' | 'once' | 'always'): Promise<void> {
    await this.page.getByLabel('Answers on their way').selectOption(which);
  }

  async offline(is: boolean): Promise<void> {
    await this.page.getByLabel('This page is offline').setChecked(is);
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.opened();
  }

  async settled(): Promise<void> {
    await this.page.locator('#outcome[data-kind=settled]').waitFor();
    await this.says('Paid');
    await this.says(/You were charged once|Nothing was charged again/);
  }

  async numbers(): Promise<Numbers> {
    const [pressed, sent, charges] = await Promise.all(
      ['#pressed', '#sent', '#charges'].map((id) => this.page.locator(id).textContent()),
    );
    return { pressed: Number(pressed), sent: Number(sent), charges: Number(charges) };
  }

  /** The payment on the receipt. */
  async payment(): Promise<string | null> {
    return this.outcome.getByText(/^UGF5bWVudD/).textContent();
  }

  /** The next cart, in all tabs. */
  async newOrder(...tabs: readonly Shop[]): Promise<void> {
    await this.button('Start a new order').click();
    for (const tab of [this, ...tabs]) await tab.says('Not paid yet');
  }

  /** Waits until the page itself says that the PSP has charged once. */
  async showsOneCharge(): Promise<void> {
    await this.page.locator('#charges', { hasText: /^1$/ }).waitFor();
  }

  /** Does what a buyer does who wants this cart paid: presses whatever helps, until it is. */
  async insist(): Promise<void> {
    const { page } = this;
    const isAtRest = page.locator('#outcome:not([data-kind=working], [data-kind=processing])');
    for (let presses = 0; presses < 10; presses++) {
      await isAtRest.waitFor();
      const kind = await this.outcome.getAttribute('data-kind');
      if (kind === 'settled') return this.settled();
      // What is at rest may move again before it is pressed: another tab is at work.
      const helps = kind === 'unknown' ? this.button('Check again') : this.pay;
      await helps.click({ timeout: 1_000 }).catch(() => {});
    }
    throw new Error(`It was never settled: ${await this.outcome.textContent()}`);
  }
}
