/**
 * `npm run bench:waiting`: what payments that wait for a slow PSP cost: memory, descriptors, and the
 * speed of everything else; that all of them end rightly; and how long a start takes.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import postgres from 'postgres';
import { about } from './about.ts';
import { type Child, Worker } from './children.ts';
import { asCommand, say } from './command.ts';
import { positive } from './flags.ts';
import type { Held } from './heap-probe.ts';
import { holdBefore } from './held-psp.ts';
import type { Round, Seen } from './load.ts';
import { executionsAt, openStage, type Stage } from './stage.ts';
import { spread } from './statistics.ts';
import { type Place, SEMEL } from './systems.ts';
import { markdown } from './tables.ts';
import type { Question, Waited } from './waiters.ts';

const HELP = `npm run bench:waiting -- [--payments 10000] [--starts 5] [--json FILE]

So many payments wait for a PSP that does not answer; memory, descriptors and the rate of a query are
measured idle and beside them. Then the PSP answers, and every payment must end rightly, once.
`;
const WARM_UP = 2_000;
const NOOP_MS = 5_000;
const ROUNDS = 3;
/** Descriptors beside those of the waiting clients. */
const SPARE = 2_000;
/** Long enough for all of it; what waits for a connection to the PSP may do so for half of it. */
const PATIENT = { PSP_TIMEOUT_MS: '600000', RECOVER_AFTER_MS: '900000', DRAIN_MS: '700000' };
const OPENED_WITHIN_MS = 120_000;

interface State {
  readonly held: Held;
  readonly descriptors: number;
  /** Queries that do nothing, a second, in each round. */
  readonly noop: readonly number[];
}

async function stateOf(server: Child, load: Worker<Round, Seen>, apiKey: string): Promise<State> {
  const noop: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const seen = await load.ask({
      ...SEMEL.ask('pm_ok', apiKey),
      body: JSON.stringify({ query: 'query { __typename }' }),
      expect: '"__typename":"Query"',
      origins: [server.url],
      set: 'nothing',
      keys: 'new',
      concurrency: 64,
      ms: NOOP_MS,
    });
    if (seen.wrong > 0) throw new Error(`A query was not answered: ${seen.firstWrong}`);
    noop.push((seen.right * 1_000) / seen.ms);
  }
  const held = await heldBy(server);
  return { held, descriptors: readdirSync(`/proc/${server.pid}/fd`).length, noop };
}

function heldBy(server: Child): Promise<Held> {
  return new Promise((resolve) => {
    server.process.once('message', resolve);
    server.process.send('held?');
  });
}

async function untilOpened(databaseUrl: string, count: number): Promise<void> {
  const sql = postgres(databaseUrl, { max: 1 });
  const endsAt = performance.now() + OPENED_WITHIN_MS;
  let opened = 0;
  while (performance.now() < endsAt && opened < count) {
    await sleep(200);
    const [row] = await sql<{ count: number }[]>`
      select count(*)::int as count from journal_entries where state = 'SENDING'`;
    opened = row?.count ?? 0;
    say(`${opened} of ${count} wait`);
  }
  await sql.end();
  if (opened < count) throw new Error(`Only ${opened} of ${count} payments came to wait.`);
}

async function measure(stage: Stage, payments: number) {
  const psp = await stage.startPsp();
  const held = await holdBefore(psp.url);
  const databaseUrl = await stage.createDatabase('waiting');
  const place: Place = { databaseUrl, redisUrl: stage.redisUrl(0), simulatorUrl: held.url };
  const apiKey = await SEMEL.prepare(place);
  const probe = join(import.meta.dirname, 'heap-probe.js');
  const server = await SEMEL.start(place, PATIENT, ['--expose-gc', '--import', probe]);
  const load = new Worker<Round, Seen>('load');
  const waiters = new Worker<Question, Waited>('waiters');
  const asking = SEMEL.ask('pm_ok', apiKey);
  const pay = {
    ...asking,
    origins: [server.url],
    set: 'paid',
    keys: 'new',
    concurrency: 64,
  } as const;
  const warm = await load.ask({ ...pay, requests: WARM_UP });
  const idle = await stateOf(server, load, apiKey);
  held.hold();
  await waiters.ask({ kind: 'send', origin: server.url, asking, count: payments });
  await untilOpened(databaseUrl, payments);
  const beside = await stateOf(server, load, apiKey);
  const atPsp = held.waiting();
  const letGoAt = performance.now();
  held.letGo();
  const waited = await waiters.ask({ kind: 'await' });
  const endS = (performance.now() - letGoAt) / 1_000;
  const broken = await brokenBy(psp, databaseUrl, waited, warm.keys + payments);
  load.stop();
  waiters.stop();
  await server.stop();
  await held.close();
  return { place, psp, idle, beside, atPsp, endS, waited, broken };
}

async function brokenBy(psp: Child, databaseUrl: string, waited: Waited, keys: number) {
  const broken: string[] = [];
  if (waited.wrong > 0)
    broken.push(`${waited.wrong} wrong answers, the first: ${waited.firstWrong}`);
  const executions = await executionsAt(psp);
  const references = new Set(executions.map(({ reference }) => reference)).size;
  if (executions.length !== keys || references !== keys) {
    broken.push(`${keys} keys, ${executions.length} executions of ${references} references`);
  }
  const sql = postgres(databaseUrl, { max: 1 });
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count from journal_entries where state = 'SUCCEEDED'`;
  await sql.end();
  if (row?.count !== keys) broken.push(`${keys} keys, ${row?.count} in the journal succeeded`);
  return broken;
}

/** From the start of the process to its first `ready`, on a database that has payments. In ms. */
async function startUps(place: Place, count: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const startedAt = performance.now();
    const server = await SEMEL.start(place, {});
    while ((await fetch(`${new URL(server.url).origin}/readyz`)).status !== 200) await sleep(5);
    times.push(performance.now() - startedAt);
    await server.stop();
    say(`start ${turn + 1} of ${count}: ${Math.round(times.at(-1) ?? 0)} ms`);
  }
  return times;
}

function table(
  payments: number,
  seen: Awaited<ReturnType<typeof measure>>,
  starts: readonly number[],
) {
  const { idle, beside, atPsp, endS } = seen;
  const per1000 = (of: (held: Held) => number) =>
    (((of(beside.held) - of(idle.held)) * 1_000) / payments).toFixed(1);
  const [before, with_, start] = [spread(idle.noop), spread(beside.noop), spread(starts)];
  return markdown(
    ['quantity', 'value', 'target'],
    [
      ['payments that waited, of them at the PSP', `${payments}, ${atPsp}`],
      ['heap for 1,000 of them', `${per1000(({ heapMb }) => heapMb)} MB`, 'at most 12 MB'],
      ['buffers and the like for 1,000', `${per1000(({ externalMb }) => externalMb)} MB`],
      ['resident memory for 1,000', `${per1000(({ rssMb }) => rssMb)} MB`],
      [
        'descriptors for 1,000',
        `${Math.round(((beside.descriptors - idle.descriptors) * 1_000) / payments)}`,
      ],
      ['queries beside them / idle', (with_.median / before.median).toFixed(2), 'at least 0.6'],
      ['until all had ended, after the PSP answered', `${endS.toFixed(1)} s`],
      [
        'start to ready, ms',
        `${Math.round(start.median)} (${Math.round(start.least)}–${Math.round(start.most)})`,
        'at most 500',
      ],
    ],
  );
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      payments: { type: 'string', default: '10000' },
      starts: { type: 'string', default: '5' },
      json: { type: 'string', default: 'bench-waiting.json' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const payments = positive('payments', values.payments);
  const starts = positive('starts', values.starts);
  const most = Number(
    /Max open files\s+(\d+)/.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1],
  );
  if (most < payments + SPARE) {
    throw new Error(
      `${payments} payments need ${payments + SPARE} descriptors; the limit is ${most}.`,
    );
  }
  const stage = await openStage();
  try {
    const where = await about(stage);
    const seen = await measure(stage, payments);
    const times = await startUps(seen.place, starts);
    await seen.psp.stop();
    const { idle, beside, atPsp, endS, waited, broken } = seen;
    const settings = { payments, starts };
    const facts = {
      ...where,
      settings,
      idle,
      beside,
      atPsp,
      endS,
      waited,
      starts: times,
      broken,
    };
    writeFileSync(values.json, JSON.stringify(facts, null, 2));
    process.stdout.write(`${table(payments, seen, times)}\n`);
    for (const line of broken) process.stdout.write(`FAILED: ${line}\n`);
    return broken.length === 0 ? 0 : 1;
  } finally {
    await stage.stop();
  }
}

await asCommand(main);
