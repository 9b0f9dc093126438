import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSchema, parse, validate } from 'graphql';
import type { BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXAMPLES } from '../../src/playground/examples.ts';
import { openWatched, withBrowser } from '../support/browser.ts';
import { eventually, freshKey, paid, pay } from '../support/pay.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';

const ROOT = join(import.meta.dirname, '../..');

test('every example is valid for the schema, and has a name and an address of its own', () => {
  const files = readdirSync(join(ROOT, 'schema')).filter((name) => name.endsWith('.graphql'));
  const schema = buildSchema(
    files.map((name) => readFileSync(join(ROOT, 'schema', name), 'utf8')).join('\n'),
  );
  for (const { query } of EXAMPLES) expect(validate(schema, parse(query))).toEqual([]);
  expect(new Set(EXAMPLES.map(({ id }) => id)).size).toBe(EXAMPLES.length);
  expect(new Set(EXAMPLES.map(({ query }) => query)).size).toBe(EXAMPLES.length);
});

describe('the playground, with no other machine in reach', { timeout: 60_000 }, () => {
  let server: TestServer;
  const screenshots = mkdtempSync(join(tmpdir(), 'semel-screenshots-'));

  beforeAll(async () => {
    buildPlayground();
    // Short enough to wait for, and longer than the slow payment method of an example.
    server = await startTestServer({ env: { PSP_TIMEOUT_MS: '4000' } });
  }, 120_000);

  afterAll(async () => {
    await server?.stop();
    console.log(`Screenshots: ${screenshots}`);
  });

  /** Opens a page, and holds it to its word afterwards: nothing from elsewhere, no error. */
  const visit = (
    path: string,
    work: (page: Page) => Promise<void>,
    options: BrowserContextOptions = { viewport: { width: 1360, height: 820 } },
  ): Promise<void> =>
    withBrowser(async (browser) => {
      const { page, problems } = await openWatched(browser, server.url, options);
      await page.goto(path);
      await page.getByRole('tab', { selected: true }).getByText(/^\w+$/).waitFor();
      await work(page);
      expect(problems).toEqual([]);
    });

  const shoot = (page: Page, name: string) =>
    page.screenshot({ path: join(screenshots, `${name}.png`) });

  test('a first visit pays once, and the same key again is replayed', async () => {
    await visit('/playground', async (page) => {
      await says(page, 'key', /not sent yet/);
      await run(page);
      await says(page, 'Last answer', 'EXECUTED');
      await says(page, 'Last answer', 'HTTP 200');
      const first = await variables(page);
      await shoot(page, 'pay-once');

      await run(page);
      await says(page, 'Last answer', 'REPLAYED');
      await says(page, 'key', /sent 2 times/);

      await open(page, 'Same key again');
      expect(await variables(page)).toBe(first);
      await run(page);
      await says(page, 'Last answer', 'REPLAYED');
      await shoot(page, 'same-key-again');
    });
  });

  test('the same key for another amount is refused, and a new key is another payment', async () => {
    await visit('/playground', async (page) => {
      await run(page);
      await says(page, 'Last answer', 'EXECUTED');
      await open(page, 'Same key, other amount');
      await run(page);
      await says(page, 'Last answer', 'IDEMPOTENCY_KEY_REUSED');
      await says(page, 'Last answer', 'HTTP 422');
      await shoot(page, 'same-key-other-amount');

      const refused = await variables(page);
      await page.getByRole('button', { name: 'New key' }).click();
      await says(page, 'key', /not sent yet/);
      expect(await variables(page)).not.toBe(refused);
      await run(page);
      await says(page, 'Last answer', 'EXECUTED');
    });
  });

  test('a part of what was captured goes back, once', async () => {
    await visit('/playground', async (page) => {
      await run(page);
      await says(page, 'Last answer', 'CAPTURED');
      await open(page, 'Refund part of it');
      await run(page);
      await says(page, 'Last answer', 'PARTIALLY_REFUNDED');
      await says(page, 'Last answer', 'EXECUTED');
      await shoot(page, 'refund');
      await run(page);
      await says(page, 'Last answer', 'REPLAYED');
    });
  });

  test('two requests at once are one payment', async () => {
    await visit('/playground?example=twice-at-once', async (page) => {
      await page.getByRole('button', { name: 'Send twice at once' }).click();
      await page.getByText('it was charged once').waitFor();
      const outcomes = await page.locator('.semel-twice strong').allInnerTexts();
      expect(outcomes.sort()).toEqual(['EXECUTED', 'JOINED']);
      await shoot(page, 'twice-at-once');
    });
  });

  test('a PSP that charges and never answers is in doubt first and captured then', async () => {
    await visit('/playground?example=psp-times-out', async (page) => {
      await run(page);
      await says(page, 'Last answer', 'IN_DOUBT');
      await says(page, 'Last answer', 'UNKNOWN');
      await shoot(page, 'psp-times-out');
      await open(page, 'Look up by key');
      await untilItSays(page, 'CAPTURED');
      await shoot(page, 'look-up-by-key');
    });
  });

  test('a link opens its example and runs nothing', async () => {
    await visit(
      '/playground?example=latest-payments',
      async (page) => {
        expect(await editor(page)).toContain('query LatestPayments');
        expect(await page.getByLabel('Last answer').textContent()).toBe('');
        await run(page);
        await says(page, 'Last answer', 'OK');
        await shoot(page, 'latest-payments-dark');
      },
      { viewport: { width: 1360, height: 820 }, colorScheme: 'dark' },
    );
  });

  test('a subscription shows each event as it comes', async () => {
    await visit('/playground?example=follow-events', async (page) => {
      const opened = page.waitForResponse((response) => isOfStream(response.request().headers()));
      await run(page);
      expect((await opened).status()).toBe(200);
      for (let times = 1; times <= 2; times += 1) {
        const payment = paid(await pay(server, freshKey())).payment?.id;
        await eventually(
          () => textOf(page, 'response.json'),
          (shown) => shown.includes('charge.succeeded') && shown.includes(payment as string),
        );
      }
      await shoot(page, 'follow-events');
    });
  });

  test('a link brings its own operation', async () => {
    const asked = new URLSearchParams({
      query: 'query Mine($first: Int) { payments(first: $first) { nodes { id } } }',
      variables: '{ "first": 3 }',
    });
    await visit(`/playground?${asked}`, async (page) => {
      expect(await editor(page)).toContain('query Mine');
      expect(await variables(page)).toContain('"first": 3');
      await run(page);
      await says(page, 'Last answer', 'OK');
    });
  });

  test('the keyboard is enough, and on a narrow screen everything is there', async () => {
    const narrow = { viewport: { width: 360, height: 740 } };
    await visit(
      '/playground',
      async (page) => {
        await page.getByRole('link', { name: /^Declined/ }).focus();
        await page.keyboard.press('Enter');
        await says(page, 'key', /not sent yet/);
        expect(await editor(page)).toContain('mutation Declined');
        await shoot(page, 'narrow-panel');
        await run(page);
        await says(page, 'Last answer', 'DECLINED');
        await page.getByLabel('Last answer').scrollIntoViewIfNeeded();
        await shoot(page, 'narrow-answer');
        expect(await widthOf(page)).toBeLessThanOrEqual(narrow.viewport.width);
      },
      narrow,
    );
  });

  test('the command for curl does what the editor does', async () => {
    await visit(
      '/playground?example=pay-once',
      async (page) => {
        await page.getByRole('button', { name: 'Copy as curl' }).click();
        await page.getByText('Copied').waitFor();
        const command = String(await page.evaluate('navigator.clipboard.readText()'));
        const answer = execFileSync('sh', ['-c', command], { encoding: 'utf8' });
        expect(answer).toContain('"outcome":"EXECUTED"');
        await run(page);
        await says(page, 'Last answer', 'REPLAYED');
      },
      { permissions: ['clipboard-read', 'clipboard-write'] },
    );
  });

  test('the API key is filled in and not stored', async () => {
    await visit('/playground', async (page) => {
      await page.getByRole('button', { name: 'Headers' }).click();
      await page.getByText(server.apiKey).first().waitFor();
      await run(page);
      await says(page, 'Last answer', 'EXECUTED');
      // GraphiQL stores what changed half a second later, each part by itself; a tab whose parts
      // do not agree yet is not found again.
      await eventually(
        async () => JSON.parse(await page.evaluate<string>('JSON.stringify(localStorage)')),
        (stored) => {
          const [tab] = JSON.parse(stored['graphiql:tabState'] ?? '{}').tabs ?? [];
          const agree = (part: string) => tab?.[part] && tab[part] === stored[`graphiql:${part}`];
          return agree('query') && agree('variables');
        },
      );
      expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain(server.apiKey);
      await page.reload();
      await page.getByRole('tab', { name: 'PayOnce' }).waitFor();
      expect(await page.getByRole('tab').count()).toBe(1);
    });
  });
});

const isOfStream = (headers: Readonly<Record<string, string>>) =>
  headers['accept'] === 'text/event-stream';

function buildPlayground(): void {
  const { NODE_ENV: _, VITEST: __, ...env } = process.env;
  execFileSync('npm', ['run', '--silent', 'build:playground'], { cwd: ROOT, env });
}

async function open(page: Page, label: string): Promise<void> {
  await page.getByRole('link', { name: new RegExp(`^${label}`) }).click();
}

async function run(page: Page): Promise<void> {
  await page.getByRole('button', { name: /^Execute query/ }).click();
}

async function says(page: Page, place: 'key' | 'Last answer', text: string | RegExp) {
  const inside = place === 'key' ? page.locator('.semel-key') : page.getByLabel(place);
  await inside.getByText(text).waitFor();
}

/** Runs the operation again and again. */
async function untilItSays(page: Page, text: string): Promise<void> {
  const answer = page.getByLabel('Last answer');
  for (let times = 0; times < 40; times++) {
    await run(page);
    await answer.getByText('HTTP 200').waitFor();
    if (await answer.getByText(text).isVisible()) return;
    await page.waitForTimeout(250);
  }
  throw new Error(`It never said ${text}: ${await answer.textContent()}`);
}

const editor = (page: Page) => textOf(page, 'operation.graphql');
const variables = (page: Page) => textOf(page, 'variables.json');

/** What an editor holds, whether or not all of its lines are in sight. */
async function textOf(page: Page, name: string): Promise<string> {
  const held = `__MONACO.editor.getModels().find(({ uri }) => uri.path.endsWith('${name}'))`;
  return String(await page.evaluate(`${held}.getValue()`));
}

async function widthOf(page: Page): Promise<number> {
  return Number(await page.evaluate('document.documentElement.scrollWidth'));
}
