import { execFile, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import postgres from 'postgres';
import type { Seen } from './load.ts';

/*
 * What Postgres alone can do with the two commits of a payment: as many rows as the product writes (an
 * entry and a payment; both again, two postings, an event), each commit one statement, but on bare
 * tables: no CHECK, foreign key or trigger, and no index beyond the keys.
 */
const TABLES = `
create table payments (id uuid primary key, amount_minor bigint not null, currency char(3) not null,
  status text not null, captured_minor bigint not null default 0, version integer not null default 1,
  created_at timestamptz not null default now());
create table entries (id uuid primary key, payment_id uuid not null, idempotency_key text not null unique,
  amount_minor bigint not null, currency char(3) not null, state text not null, psp_reference text,
  created_at timestamptz not null default now(), settled_at timestamptz);
create table postings (entry_id uuid not null, leg smallint not null, account text not null,
  direction text not null, amount_minor bigint not null, primary key (entry_id, leg));
create table events (id uuid primary key, payment_id uuid not null, type text not null)`;

const SCRIPT = `
with paid as (
  insert into payments (id, amount_minor, currency, status)
  values (gen_random_uuid(), 1050, 'EUR', 'PROCESSING') returning id)
insert into entries (id, payment_id, idempotency_key, amount_minor, currency, state)
select gen_random_uuid(), id, id::text, 1050, 'EUR', 'SENDING' from paid
returning id as entry, payment_id as payment \\gset
with moved as (
  update entries set state = 'SUCCEEDED', psp_reference = 'ch', settled_at = now() where id = :entry
  returning id, payment_id, amount_minor), paid as (
  update payments p set status = 'CAPTURED', captured_minor = m.amount_minor, version = version + 1
  from moved m where p.id = :payment), posted as (
  insert into postings select id, 1, 'psp_clearing', 'DEBIT', amount_minor from moved
  union all select id, 2, 'merchant_payable', 'CREDIT', amount_minor from moved)
insert into events select gen_random_uuid(), payment_id, 'charge.succeeded' from moved;
`;

const CLIENTS = 8;
const DEBIAN = '/usr/lib/postgresql';

/** The program, or undefined where there is none. */
export function findPgbench(): string | undefined {
  const folders = [process.env['PG_BIN'], ...debianFolders()].filter((one) => one !== undefined);
  const candidates = ['pgbench', ...folders.map((folder) => join(folder, 'pgbench'))];
  return candidates.find((one) => spawnSync(one, ['--version'], { stdio: 'ignore' }).status === 0);
}

function debianFolders(): string[] {
  try {
    return readdirSync(DEBIAN)
      .sort()
      .reverse()
      .map((version) => join(DEBIAN, version, 'bin'));
  } catch {
    return [];
  }
}

/** @returns the file that `runPgbench` takes */
export async function preparePgbench(databaseUrl: string): Promise<string> {
  const sql = postgres(databaseUrl, { max: 1 });
  await sql.unsafe(TABLES);
  await sql.end();
  const file = join(tmpdir(), `semel-pgbench-${process.pid}.sql`);
  await writeFile(file, SCRIPT);
  return file;
}

/** One round; the time to connect is not in it. @throws if a transaction failed */
export async function runPgbench(
  program: string,
  file: string,
  databaseUrl: string,
  ms: number,
): Promise<Seen> {
  const seconds = `${Math.max(1, Math.round(ms / 1_000))}`;
  const how = ['--no-vacuum', '--protocol', 'prepared', '--client', `${CLIENTS}`, '--jobs', '2'];
  const args = [...how, '--time', seconds, '--file', file, databaseUrl];
  const { stdout } = await promisify(execFile)(program, args);
  return readPgbench(stdout);
}

export function readPgbench(text: string): Seen {
  const perSecond = Number(/^tps = ([\d.]+)/m.exec(text)?.[1]);
  const requests = Number(/actually processed: (\d+)/.exec(text)?.[1]);
  const failed = Number(/failed transactions: (\d+)/.exec(text)?.[1] ?? 0);
  if (!(perSecond > 0) || failed > 0) throw new Error(`pgbench did not work:\n${text}`);
  const ms = (requests * 1_000) / perSecond;
  const none = { p50Ms: null, p99Ms: null, refused: 0, wrong: 0, firstWrong: null, keys: 0 };
  return { ...none, requests, right: requests, ms };
}
