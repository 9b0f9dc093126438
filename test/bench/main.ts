/**
 * `npm run bench`: starts its own Postgres, Redis, PSP and servers, plays all modes by turns, and
 * prints medians of ratios within each round. Rates of two runs must not be compared: the machine is
 * never the same. Fails if a correctness gate does.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { startPostgres } from '../../src/embedded/index.ts';
import { makeTempDir } from '../support/temp-dir.ts';
import { startTestRedis } from '../support/with-redis.ts';
import { startTestServer } from '../support/with-server.ts';
import { startTestSimulator } from '../support/with-simulator.ts';
import type { Round, Seen } from './load.ts';
import { cpuMs, LoadGenerator, machineCpuMs, startPrinting } from './processes.ts';
import { type Measured, summarise, table } from './report.ts';

const { values: flags } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    concurrency: { type: 'string', default: '64' },
    json: { type: 'string', default: 'bench.json' },
    help: { type: 'boolean', default: false },
  },
});
if (flags.help) {
  process.stdout.write(
    'npm run bench -- [--short] [--rounds N] [--seconds S] [--concurrency C] [--json FILE]\n',
  );
  process.exit(0);
}
const rounds = Number(flags.rounds ?? (flags.short ? 3 : 7));
const ms = Number(flags.seconds ?? (flags.short ? 1 : 2)) * 1_000;
const warmUp = flags.short ? 2_000 : 20_000;
const concurrency = Number(flags.concurrency);
const REFERENCE = 'no-op mutation';

const folder = await makeTempDir();
const database = await startPostgres({ dataDir: join(folder.path, 'postgres') });
const redis = await startTestRedis();
const simulator = await startTestSimulator();
const server = await startTestServer({
  env: { DATABASE_URL: database.url, REDIS_URL: redis.url, SIMULATOR_URL: simulator.url },
});
const { child: noop, line: others } = await startPrinting<{ noop: string; echo: string }>(
  join(import.meta.dirname, 'noop-server.ts'),
);
const load = new LoadGenerator(join(import.meta.dirname, 'load.ts'));
const parts: Readonly<Record<string, number>> = {
  node: server.pid,
  postgres: database.pid,
  redis: redis.pid,
  psp: simulator.pid,
  noop: noop.pid as number,
  load: load.pid,
};

const json = { 'content-type': 'application/json', accept: 'application/json' };
const signedIn = { ...json, authorization: `Bearer ${server.apiKey}` };
const pay = JSON.stringify({
  query:
    'mutation($k: IdempotencyKey!, $i: CreatePaymentInput!) { createPayment(idempotencyKey: $k, input: $i) { payment { id } userErrors { code } idempotency { outcome } } }',
  variables: {
    k: '@',
    i: { amount: { amountMinor: 1_050, currency: 'EUR' }, paymentMethod: 'pm_ok' },
  },
});
const nothing = JSON.stringify({
  query: 'mutation($id: ID!, $i: NoopInput!) { noop(id: $id, input: $i) { id } }',
  variables: { id: '@', i: { amountMinor: 1_050, currency: 'EUR' } },
});
const paidKeys: string[] = [];
type Mode = Omit<Round, 'concurrency' | 'ms' | 'requests'>;
const graphql = { path: '/graphql', headers: signedIn };
const modes: Readonly<Record<string, () => Mode>> = {
  'raw node:http echo': () => ({
    origin: others.echo,
    path: '/',
    headers: json,
    body: nothing,
    expect: 'noop',
  }),
  [REFERENCE]: () => ({ ...graphql, origin: others.noop, body: nothing, expect: '"id"' }),
  'new payment': () => ({ ...graphql, origin: server.url, body: pay, expect: 'EXECUTED' }),
  'replay from Redis': () => ({
    ...graphql,
    origin: server.url,
    body: pay,
    keys: paidKeys.slice(-1_000),
    // A replay or a join; that nothing is executed again is a gate.
    expect: '"userErrors":[]',
  }),
};

const say = (line: string) => process.stderr.write(`${line}\n`);

async function measure(mode: string, round: number): Promise<Measured> {
  const before = { machine: machineCpuMs(), own: allCpu() };
  const seen = await load.play({ ...(modes[mode] as () => Mode)(), concurrency, ms });
  const after = { machine: machineCpuMs(), own: allCpu() };
  if (mode === 'new payment') paidKeys.push(...seen.keys);
  const used = (part: string) => (after.own[part] ?? 0) - (before.own[part] ?? 0);
  const own = Object.keys(parts).reduce((sum, part) => sum + used(part), 0);
  const { requests, p50Ms, p99Ms, wrong, firstWrong } = seen;
  return {
    mode,
    round,
    requests,
    p50Ms,
    p99Ms,
    wrong,
    firstWrong,
    perSecond: (requests * 1_000) / seen.ms,
    cpuUs: Object.fromEntries(
      Object.keys(parts)
        .map((part) => [part, (used(part) * 1_000) / requests] as const)
        .filter(([, us]) => us >= 1),
    ),
    foreignCores: Math.max(0, (after.machine - before.machine - own) / seen.ms),
  };
}

function allCpu(): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(parts).map(([part, pid]) => [part, cpuMs(pid)]));
}

/** What must be true whatever the speed. */
async function gates(measured: readonly Measured[]): Promise<string[]> {
  const failed: string[] = [];
  for (const { mode, wrong, firstWrong } of measured) {
    if (wrong > 0) failed.push(`${mode}: ${wrong} wrong answers, the first: ${firstWrong}`);
  }
  const executions = await simulator.executions();
  const references = new Set(executions.map(({ reference }) => reference));
  if (references.size !== executions.length) failed.push('a key was executed more than once');
  if (executions.length !== paidKeys.length) {
    failed.push(`${paidKeys.length} keys were paid, the PSP executed ${executions.length}`);
  }
  const sql = postgres(database.url, { max: 1 });
  const [books] = await sql`
    select (select count(*) from journal_entries where state = 'SUCCEEDED')::int as succeeded,
      (select count(*) from postings)::int as postings,
      (select coalesce(sum(case direction when 'DEBIT' then amount_minor else -amount_minor end), 0)
        from postings)::int as balance`;
  await sql.end();
  if (books?.['balance'] !== 0) failed.push(`the postings sum to ${books?.['balance']}`);
  if (books?.['postings'] !== 2 * Number(books?.['succeeded'])) failed.push('postings are missing');
  if (books?.['succeeded'] !== paidKeys.length) failed.push('the journal lacks payments');
  return failed;
}

async function warm(): Promise<void> {
  for (const mode of Object.keys(modes)) {
    say(`warm-up: ${mode}`);
    const round = { ...(modes[mode] as () => Mode)(), concurrency, requests: warmUp };
    const seen: Seen = await load.play(round);
    if (mode === 'new payment') paidKeys.push(...seen.keys);
  }
}

let failed: string[];
try {
  await warm();
  const measured: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const order = Object.keys(modes);
    if (round % 2 === 1) order.reverse();
    for (const mode of order) measured.push(await measure(mode, round));
    say(`round ${round + 1} of ${rounds}`);
  }
  const lines = summarise(measured, REFERENCE);
  process.stdout.write(`${table(lines, REFERENCE)}\n`);
  failed = await gates(measured);
  const commit = execFileSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  const machine = { cpus: cpus().map(({ model }) => model), node: process.version };
  const settings = { rounds, ms, concurrency, warmUp };
  writeFileSync(
    flags.json,
    JSON.stringify({ commit, machine, settings, lines, measured }, null, 2),
  );
  for (const line of failed) process.stdout.write(`FAILED: ${line}\n`);
  if (failed.length === 0)
    process.stdout.write('Every gate holds: one execution a key, books balance.\n');
} finally {
  load.stop();
  noop.kill();
  await server.stop();
  await Promise.all([redis.stop(), simulator.stop()]);
  await database.stop();
  await folder.remove();
}
process.exit(failed.length === 0 ? 0 : 1);
