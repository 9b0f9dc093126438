import { migrationsIn, unsafeSettings, whyNotReady } from '../postgres/index.ts';
import { compose, type Running } from './compose.ts';
import type { Config } from './config.ts';
import { migrationsFolder, openDatabase } from './database.ts';
import { embedMissing, type Parts } from './embed.ts';
import { createLog, type Log } from './log.ts';

const NPM_CHECK_MS = 500;
const DEMO = { merchant: 'demo', name: 'demo', expiresAt: null } as const;

/** `semel serve`: everything up, until a signal; then everything down in order. */
export async function serve(config: Config): Promise<void> {
  const log = createLog(config.LOG_LEVEL);
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const parts = await embedMissing(config, say);
  let running: Running;
  try {
    await prepare(config, parts);
    running = await compose(config, parts, log);
  } catch (error) {
    await parts.stop();
    throw error;
  }
  welcome(running, parts, say);
  await stopOnSignal(running, parts, log);
}

/** The database as this build needs it, and the demo merchant if there is to be one. */
async function prepare(config: Config, parts: Parts): Promise<void> {
  const { databaseUrl, demoApiKey } = parts;
  if (config.NODE_ENV === 'production') await refuseUnfit(config, databaseUrl);
  if (config.NODE_ENV === 'production' && demoApiKey === undefined) return;
  const { Keys, migrate } = await import('../postgres/administration.ts');
  if (config.NODE_ENV !== 'production') await migrate(databaseUrl, migrationsFolder());
  if (demoApiKey === undefined) return;
  const keys = new Keys(databaseUrl);
  try {
    await keys.create({ ...DEMO, scopes: ['payments:read', 'payments:write'], key: demoApiKey });
  } finally {
    await keys.close();
  }
}

/** In production a database that is not migrated, or could forget, is refused at the start. */
async function refuseUnfit(config: Config, url: string): Promise<void> {
  const database = openDatabase(config, url, () => {});
  try {
    const why = await whyNotReady(database, migrationsIn(migrationsFolder()));
    if (why !== undefined) throw new Error(`${why}. Run: semel migrate`);
    const unsafe = await unsafeSettings(database);
    if (unsafe.length > 0) {
      const settings = unsafe.join(', ');
      throw new Error(`The database could lose acknowledged payments: ${settings}. Set it on.`);
    }
  } finally {
    await database.close();
  }
}

function welcome(
  { url, playground, checkout }: Running,
  { demoApiKey }: Parts,
  say: (l: string) => void,
) {
  say('');
  say(`Semel listens on ${url}/graphql`);
  if (playground !== undefined) say(`Playground: ${playground}`);
  if (checkout !== undefined) say(`Checkout demo: ${checkout}`);
  if (demoApiKey === undefined) return;
  say(`API key of the demo merchant: ${demoApiKey}`);
  say('Make a payment (run it twice: the second is a replay):');
  say('');
  say(`  ${curl(url, demoApiKey)}`);
  say('');
}

function curl(url: string, key: string): string {
  const query =
    'mutation($key: IdempotencyKey!, $input: CreatePaymentInput!) { createPayment(idempotencyKey: $key, input: $input) { payment { id status amount { decimal currency } } userErrors { code message } idempotency { outcome } } }';
  const variables = {
    key: 'order-1001',
    input: { amount: { amountMinor: 1_050, currency: 'EUR' }, paymentMethod: 'pm_ok' },
  };
  const body = JSON.stringify({ query, variables });
  return `curl -s ${url}/graphql -H 'authorization: Bearer ${key}' -H 'content-type: application/json' -d '${body}'`;
}

/** Resolves when everything has ended; a second signal ends the process at once. */
async function stopOnSignal(running: Running, parts: Parts, log: Log): Promise<void> {
  const signal = await new Promise<string>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => resolve(name));
    whenNpmIsGone(() => resolve('npm ended'));
  });
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => process.exit(130));
  log.info({ signal }, 'stopping: no new work, what runs may end');
  const whole = await running.drain();
  if (!whole) log.warn('stopped with work under way; recovery will end it');
  await parts.stop();
}

/** `npm start` that was killed cannot pass the signal on: its server must not live on unseen. */
function whenNpmIsGone(then: () => void): void {
  if (process.env['npm_lifecycle_event'] !== 'start') return;
  const { ppid } = process;
  setInterval(() => {
    if (process.ppid !== ppid) then();
  }, NPM_CHECK_MS).unref();
}
