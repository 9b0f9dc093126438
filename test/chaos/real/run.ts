import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { check, type Verdict } from './checker.ts';
import { History } from './client.ts';
import { eventsWritten, gather, openEntries } from './evidence.ts';
import { type Cell, healAll } from './faults.ts';
import { haunt, Tally } from './nemesis.ts';
import { Random } from './random.ts';
import { Reader } from './reader.ts';
import type { Evidence } from './records.ts';
import { type Times, timesOf } from './speed.ts';
import { rushIn, type Shop, shopAs } from './workload.ts';
import { startWorld, type World, type WorldOptions } from './world.ts';

export interface RunOptions extends WorldOptions {
  /** The longest that faults are made, in ms. */
  readonly chaosMs: number;
  /** Ends the faults earlier: once so many intents were begun and every cell was hit `minCell` times. */
  readonly intents?: number | undefined;
  readonly minCell: number;
  /** With `intents`: and once there were so many faults. */
  readonly faults: number;
  /** The shortest time between two strikes at a server, in ms. */
  readonly pauseMs: number;
  readonly cells: readonly Cell[];
  readonly clients: number;
  /** Told how it goes, a line at a time. */
  readonly say: (line: string) => void;
}

export interface RunResult {
  readonly evidence: Evidence;
  readonly verdict: Verdict;
  readonly hits: ReadonlyMap<string, number>;
  readonly unhit: readonly string[];
  /** How many of the intents that were wanted were not begun. */
  readonly missing: number;
  /** How long faults were made, and how long it took then until nothing was open, in ms. */
  readonly chaosMs: number;
  readonly quietMs: number;
  /** From the start of a server's process until it answered, of all starts. */
  readonly starts: Times;
  /** The folder of logs and history; it is kept. */
  readonly folder: string;
  /** Removes it. */
  forget(): Promise<void>;
}

const WARM_UP_MS = 1_000;
const QUIET_MS = 120_000;
const PROGRESS_MS = 15_000;
const RUSH = 10;
const RUSH_MS = 1_000;

/** Warm-up, faults, healing, quiet, check. Leaves nothing running. */
export async function run(options: RunOptions): Promise<RunResult> {
  const world = await startWorld(options);
  const { folder } = world;
  options.say(`logs and history: ${folder.path}`);
  const history = new History(join(folder.path, 'history.jsonl'));
  try {
    return await runIn(world, history, options);
  } finally {
    history.close();
    await world.end();
  }
}

async function runIn(world: World, history: History, options: RunOptions): Promise<RunResult> {
  const { folder } = world;
  const shop = openShop(world, history);
  const reader = new Reader(world, join(folder.path, 'read.jsonl'));
  const clients = enter(shop, options);
  await sleep(WARM_UP_MS);
  const tally = new Tally(options.cells);
  const begunAt = Date.now();
  const progress = setInterval(
    () => options.say(lineOf(shop, tally, options, begunAt)),
    PROGRESS_MS,
  );
  await makeFaults(shop, tally, options);
  const chaosMs = Date.now() - begunAt;
  shop.open = false;
  await healAll(world);
  await Promise.all(world.servers.map((server) => server.ready()));
  const healedAt = Date.now();
  history.note('healed');
  options.say(
    `healed after ${Math.round(chaosMs / 1_000)} s of faults; waiting until nothing is open`,
  );
  shop.closesAt = healedAt + QUIET_MS;
  let waiting = true;
  const ended = clients().finally(() => {
    waiting = false;
  });
  while (waiting || ((await openEntries(world)) > 0 && Date.now() < shop.closesAt)) {
    await Promise.race([ended, openEntries(world)]);
    await sleep(500);
  }
  await ended;
  const quietMs = Date.now() - healedAt;
  const written = await eventsWritten(world);
  while (reader.read < written && Date.now() < shop.closesAt) await sleep(200);
  clearInterval(progress);
  const evidence = await gather(world, history, { healedAt, reads: await reader.stop() });
  return {
    evidence,
    verdict: check(evidence),
    hits: tally.hits,
    unhit: tally.unhit(options.minCell),
    missing: Math.max(0, (options.intents ?? 0) - shop.begun),
    chaosMs,
    quietMs,
    starts: timesOf(world.servers.flatMap(({ starts }) => starts)),
    folder: folder.path,
    forget: () => folder.remove(),
  };
}

function openShop(world: World, history: History): Shop {
  const { canaries } = world;
  return { world, history, canaries, open: true, closesAt: Infinity, begun: 0, ended: 0 };
}

/** Clients come, and many more whenever there is a rush. @returns what waits for all of them */
function enter(shop: Shop, { seed, clients }: RunOptions): () => Promise<void> {
  const here = new Set<Promise<void>>();
  const add = (client: Promise<void>) => {
    here.add(client);
    void client.finally(() => here.delete(client));
  };
  for (let number = 0; number < clients; number += 1) {
    add(shopAs(shop, `c${number}`, new Random(seed, `client-${number}`)));
  }
  let rushes = 0;
  shop.world.rush = async () => {
    rushes += 1;
    for (let number = 0; number < RUSH * clients; number += 1) {
      const name = `rush-${rushes}-${number}`;
      add(rushIn(shop, name, new Random(seed, name)));
    }
    await sleep(RUSH_MS);
  };
  return async () => {
    while (here.size > 0) await Promise.all(here);
  };
}

async function makeFaults(shop: Shop, tally: Tally, options: RunOptions): Promise<void> {
  const { world, history } = shop;
  const { seed, minCell, intents, chaosMs, faults, pauseMs } = options;
  const endsAt = Date.now() + chaosMs;
  const allHit = () =>
    intents !== undefined && tally.total >= faults && tally.unhit(minCell).length === 0;
  const running = () => Date.now() < endsAt && !(allHit() && shop.begun >= (intents ?? 0));
  await Promise.all(
    world.servers.map((server) => {
      const random = new Random(seed, server.name);
      // With a number of intents to reach, whoever has hit every cell lets the clients work.
      return haunt(server, { world, history, tally, random, running, resting: allHit, pauseMs });
    }),
  );
}

function lineOf(shop: Shop, tally: Tally, { minCell }: RunOptions, begunAt: number): string {
  const seconds = Math.round((Date.now() - begunAt) / 1_000);
  const unhit = tally.unhit(minCell);
  const some = unhit.slice(0, 4).join(' ');
  return `${seconds} s: ${shop.begun} intents begun, ${shop.ended} ended, ${tally.total} faults, ${unhit.length} cells to hit ${some}`;
}
