/**
 * `npm run bench:growth`: how the journal bears its own size: at each, the product's own statements
 * write and read.
 */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import postgres, { type Sql } from 'postgres';
import { about } from './about.ts';
import { Worker } from './children.ts';
import { asCommand, say } from './command.ts';
import { fill } from './fill.ts';
import { positive } from './flags.ts';
import { type Read, readAll, replayRate } from './growth-reads.ts';
import type { JournalRound } from './journal-worker.ts';
import type { Seen } from './load.ts';
import { openStage, type Stage } from './stage.ts';
import { median } from './statistics.ts';
import { SEMEL } from './systems.ts';
import { markdown } from './tables.ts';

const HELP = `npm run bench:growth -- [--rows 100000,1000000,5000000] [--rounds 5] [--seconds 3] [--json FILE]

Fills the journal to each size, then measures: payments written a second through the product's T1 and T2
(64 callers), replays from the journal, the list queries, recovery's scan, the sizes of the indexes.
5,000,000 payments take about 15 GB of disk and some ten minutes.
`;
const CALLERS = 64;
/** Indexes in the table, the largest first; the JSON has all. */
const SHOWN = 12;

interface Size {
  readonly rows: number;
  readonly fillS: number;
  readonly inserts: readonly number[];
  readonly replays: readonly number[];
  readonly reads: readonly Read[];
  /** MB, the largest first. */
  readonly indexes: readonly { readonly name: string; readonly mb: number }[];
  readonly totalMb: number;
}

async function sizesOf(sql: Sql) {
  const indexes = await sql<{ name: string; mb: number }[]>`
    select indexrelname as name, (pg_relation_size(indexrelid) / 1048576.0)::float8 as mb
    from pg_stat_user_indexes order by mb desc`;
  const [total] = await sql<{ mb: number }[]>`
    select (pg_database_size(current_database()) / 1048576.0)::float8 as mb`;
  return { indexes: [...indexes], totalMb: total?.mb ?? 0 };
}

async function measureSize(
  place: { readonly databaseUrl: string; readonly merchantId: string },
  worker: Worker<JournalRound, Seen>,
  sql: Sql,
  { rows, rounds, ms }: { readonly rows: number; readonly rounds: number; readonly ms: number },
): Promise<Omit<Size, 'rows' | 'fillS'>> {
  const { merchantId } = place;
  await worker.ask({ merchantId, concurrency: CALLERS, requests: 5_000 });
  const inserts: number[] = [];
  const replays: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const seen = await worker.ask({ merchantId, concurrency: CALLERS, ms });
    inserts.push((seen.right * 1_000) / seen.ms);
    replays.push(await replayRate({ ...place, rows }, sql, ms));
    say(`${rows} rows: round ${round + 1} of ${rounds}`);
  }
  const reads = await readAll({ ...place, rows }, sql);
  return { inserts, replays, reads, ...(await sizesOf(sql)) };
}

/** Each size in a database of its own, since what is measured writes, too. */
async function grow(
  stage: Stage,
  { rows, rounds, ms }: { readonly rows: number; readonly rounds: number; readonly ms: number },
): Promise<Size> {
  const databaseUrl = await stage.createDatabase('growth');
  const redisUrl = stage.redisUrl(SEMEL.database);
  await SEMEL.prepare({ databaseUrl, redisUrl, simulatorUrl: 'http://127.0.0.1:9' });
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  const worker = new Worker<JournalRound, Seen>('journal-worker', { DATABASE_URL: databaseUrl });
  const merchantId = randomUUID();
  const startedAt = performance.now();
  await fill(databaseUrl, { merchantId, rows }, say);
  const fillS = (performance.now() - startedAt) / 1_000;
  const place = { databaseUrl, merchantId };
  const size = { rows, fillS, ...(await measureSize(place, worker, sql, { rows, rounds, ms })) };
  worker.stop();
  await sql.end();
  await stage.dropDatabase('growth');
  return size;
}

function table(sizes: readonly Size[]): string {
  const each = (name: string, value: (size: Size) => string) => [name, ...sizes.map(value)];
  const ms = (name: string) => (size: Size) => {
    const read = size.reads.find((one) => one.name === name);
    return read?.ms === null ? 'no answer in time' : `${read?.ms?.toFixed(1)} ms`;
  };
  const ratio = ({ inserts }: Size) =>
    (median(inserts) / median(sizes[0]?.inserts ?? [])).toFixed(2);
  const range = (values: readonly number[]) => {
    const [low, high] = [Math.min(...values), Math.max(...values)].map(Math.round);
    return `${Math.round(median(values))} (${low}–${high})`;
  };
  const index = (name: string) => (size: Size) =>
    `${Math.round(size.indexes.find((one) => one.name === name)?.mb ?? 0)} MB`;
  return markdown(
    ['payments in the journal', ...sizes.map(({ rows }) => rows.toLocaleString('en'))],
    [
      each('new payments a second, T1 and T2', ({ inserts }) => range(inserts)),
      each('… as a multiple of the first size (target at 5,000,000: 0.6)', ratio),
      each('replays from the journal a second', ({ replays }) => range(replays)),
      ...(sizes[0]?.reads ?? []).map(({ name }) => each(name, ms(name))),
      each('filled in', ({ fillS }) => `${Math.round(fillS)} s`),
      each('whole database', ({ totalMb }) => `${Math.round(totalMb)} MB`),
      ...(sizes.at(-1)?.indexes ?? [])
        .slice(0, SHOWN)
        .map(({ name }) => each(`index ${name}`, index(name))),
    ],
  );
}

async function main(): Promise<undefined> {
  const { values } = parseArgs({
    options: {
      rows: { type: 'string', default: '100000,1000000,5000000' },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      json: { type: 'string', default: 'bench-growth.json' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const sizes = values.rows.split(',').map((text) => positive('rows', text.trim()));
  const rounds = positive('rounds', values.rounds);
  const ms = positive('seconds', values.seconds) * 1_000;
  const stage = await openStage();
  try {
    const where = await about(stage);
    const seen: Size[] = [];
    for (const rows of sizes) seen.push(await grow(stage, { rows, rounds, ms }));
    process.stdout.write(`${table(seen)}\n`);
    const facts = { ...where, settings: { sizes, rounds, ms }, sizes: seen };
    writeFileSync(values.json, JSON.stringify(facts, null, 2));
  } finally {
    await stage.stop();
  }
}

await asCommand(main);
