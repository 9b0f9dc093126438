import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import type postgres from 'postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startWorld, type World } from '../e2e/world.ts';
import { makeTempDir, type TempDir } from '../support/temp-dir.ts';
import { TEST_API_KEY, type TestServer } from '../support/with-server.ts';

const SEED = 20_260_301;
const MOST_STARTS = 40;

let world: World;
let server: TestServer;
let folder: TempDir;
let sql: postgres.Sql;

beforeAll(async () => {
  [world, folder] = await Promise.all([startWorld(), makeTempDir()]);
  server = await world.server();
  ({ sql } = world);
  // One file, so that starting it 50 times over is quick.
  await build({
    entryPoints: [join(import.meta.dirname, 'nightly-job.ts')],
    outfile: join(folder.path, 'nightly-job.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
  });
}, 120_000);

afterAll(async () => {
  await world?.end();
  await folder?.remove();
}, 60_000);

/** Random numbers from 0 to 1 that are the same in each run (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function startJob(keys: 'stable' | 'random'): ChildProcess {
  return spawn(process.execPath, [join(folder.path, 'nightly-job.mjs')], {
    env: {
      DATABASE: world.database.url,
      ENDPOINT: `${server.url}/graphql`,
      API_KEY: TEST_API_KEY,
      KEYS: keys,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/** Kills a job a moment after it has paid so many invoices. @returns whether it was still alive */
async function killAfter(job: ChildProcess, paid: number, waitMs: number): Promise<boolean> {
  const ended = once(job, 'exit');
  let seen = 0;
  for await (const _ of createInterface({ input: job.stdout as NodeJS.ReadableStream })) {
    seen += 1;
    if (seen >= paid) break;
  }
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  job.kill('SIGKILL');
  const [, signal] = await ended;
  return signal === 'SIGKILL';
}

/** Starts and kills the job until it has been killed so often; then lets it finish. */
async function nights(invoices: number, kills: number, keys: 'stable' | 'random') {
  const random = randomFrom(SEED);
  await sql`drop table if exists invoices`;
  await sql`create table invoices (id int primary key, version int not null default 1,
    amount_minor int not null, payment text, replayed boolean, problem text)`;
  await sql`insert into invoices (id, amount_minor)
    select id, 1000 + id from generate_series(1, ${invoices}) id`;
  const before = (await world.simulator.executions()).length;
  let killed = 0;
  while (killed < kills) {
    const job = startJob(keys);
    const alive = await killAfter(job, 1 + Math.floor(random() * 6), random() * 20);
    if (!alive) throw new Error(`The job was done after ${killed} kills.`);
    killed += 1;
  }
  const due = async () => (await sql`select from invoices where payment is null`).length;
  for (let starts = 0; (await due()) > 0 && starts < MOST_STARTS; starts += 1) {
    const job = startJob(keys);
    job.stdout?.resume();
    await once(job, 'exit');
  }
  const executions = (await world.simulator.executions()).slice(before);
  const rows = await sql<{ payment: string | null; replayed: boolean | null }[]>`
    select payment, replayed from invoices`;
  return { executions, rows };
}

it('pays 500 invoices once each, killed 50 times', async () => {
  const { executions, rows } = await nights(500, 50, 'stable');
  expect(executions).toHaveLength(500);
  const amounts = executions.map(({ amountMinor }) => amountMinor).sort();
  expect(amounts).toEqual(Array.from({ length: 500 }, (_, at) => 1_001 + at).sort());
  expect(new Set(rows.map(({ payment }) => payment)).size).toBe(500);
  expect(rows.filter(({ payment }) => payment === null)).toEqual([]);
  // Some kills fell between the charge and the note of it; else nothing would have been shown.
  expect(rows.filter(({ replayed }) => replayed).length).toBeGreaterThan(0);
}, 300_000);

it('control: with a new key for each try, some are paid twice', async () => {
  const { executions, rows } = await nights(80, 6, 'random');
  expect(rows.filter(({ payment }) => payment === null)).toEqual([]);
  expect(executions.length).toBeGreaterThan(80);
}, 120_000);
