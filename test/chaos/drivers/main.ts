import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';
import { startProxy } from '../../support/proxy.ts';
import { startTestPostgres } from '../../support/with-postgres.ts';
import {
  type Driver,
  guarded,
  nodePostgres,
  nodePostgresStatement,
  postgresJs,
} from './drivers.ts';

/*
 * `npm run chaos:drivers`: the same load and the same faults for each way to Postgres: immediate
 * shutdowns, and connections that stay open and are silent. Prints what became of the writes.
 */

const SHUTDOWNS = 5;
const HALF_OPENS = 3;
const AT_ONCE = 16;
const BETWEEN_MS = 1_500;
/** What has not ended so long after the last fault never will. */
const PATIENCE_MS = 15_000;

interface Outcome {
  readonly name: string;
  readonly acknowledged: number;
  readonly failed: number;
  readonly lost: number;
  readonly torn: number;
  readonly foreign: number;
  readonly hung: number;
  readonly uncaught: number;
  readonly longestMs: number;
}

async function run(make: (url: string) => Driver): Promise<Outcome> {
  const server = await startTestPostgres({ durable: true });
  const proxy = await startProxy(Number(new URL(server.url).port));
  const admin = postgres(server.url, { max: 1, onnotice: () => {} });
  await admin`create table writes (id text, part int, primary key (id, part))`;
  const url = new URL(server.url);
  url.port = `${proxy.port}`;
  let uncaught = 0;
  const note = (): void => {
    uncaught += 1;
  };
  process.on('unhandledRejection', note).on('uncaughtException', note);
  const driver = make(url.href);
  const load = startLoad(driver);
  for (let turn = 0; turn < SHUTDOWNS; turn += 1) {
    await sleep(BETWEEN_MS);
    await server.immediateStop();
    await server.start();
  }
  for (let turn = 0; turn < HALF_OPENS; turn += 1) {
    await sleep(BETWEEN_MS);
    await proxy.set('silence');
  }
  await sleep(BETWEEN_MS);
  const { acknowledged, failed, hung, longestMs } = await load.stop();
  const rows = await admin<{ id: string; parts: number }[]>`
    select id, count(*)::int as parts from writes group by id`;
  const parts = new Map(rows.map((row) => [row.id, row.parts]));
  const [foreign] = await admin`select count(*)::int as n from (
    select 1 from writes group by xmin::text having count(distinct id) > 1) as shared`;
  const lost = acknowledged.filter((id) => parts.get(id) !== 2).length;
  const torn = rows.filter((row) => row.parts !== 2).length;
  await Promise.race([driver.close(), sleep(3_000)]).catch(() => {});
  process.off('unhandledRejection', note).off('uncaughtException', note);
  await admin.end();
  await proxy.close();
  await server.remove();
  const counts = { lost, torn, hung, uncaught, foreign: Number(foreign?.['n']), longestMs };
  return { name: driver.name, acknowledged: acknowledged.length, failed, ...counts };
}

/** Clients that write one pair of rows after the other until they are stopped. */
function startLoad(driver: Driver) {
  const acknowledged: string[] = [];
  const open = new Set<string>();
  let failed = 0;
  let longestMs = 0;
  let stopped = false;
  const clients = Array.from({ length: AT_ONCE }, async (_, client) => {
    for (let number = 0; !stopped; number += 1) {
      const id = `${client}-${number}`;
      const startedAt = performance.now();
      open.add(id);
      try {
        await driver.write(id);
        acknowledged.push(id);
      } catch {
        failed += 1;
        await sleep(20);
      }
      open.delete(id);
      longestMs = Math.max(longestMs, performance.now() - startedAt);
    }
  });
  return {
    stop: async () => {
      stopped = true;
      await Promise.race([Promise.all(clients), sleep(PATIENCE_MS)]);
      return { acknowledged, failed, hung: open.size, longestMs: Math.round(longestMs) };
    },
  };
}

const outcomes: Outcome[] = [];
for (const make of [guarded, nodePostgresStatement, nodePostgres, postgresJs]) {
  outcomes.push(await run(make));
  process.stdout.write(`${JSON.stringify(outcomes.at(-1))}\n`);
}
console.table(outcomes.map(({ name, ...counts }) => ({ way: name, ...counts })));
const [ours] = outcomes;
const bad = ours === undefined || ours.lost + ours.torn + ours.foreign + ours.hung + ours.uncaught;
process.exit(bad === 0 ? 0 : 1);
