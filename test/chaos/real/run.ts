import { setTimeout as sleep } from 'node:timers/promises';
import { check, type Verdict } from './checker.ts';
import { History } from './client.ts';
import { gather, openEntries } from './evidence.ts';
import { type Cell, healAll } from './faults.ts';
import { haunt, Tally } from './nemesis.ts';
import { Random } from './random.ts';
import type { Evidence } from './records.ts';
import { type Shop, shopAs } from './workload.ts';
import { startWorld } from './world.ts';

export interface RunOptions {
  readonly seed: number;
  /** The longest that faults are made, in ms. */
  readonly chaosMs: number;
  /** Ends the faults earlier: once so many intents were begun and every cell was hit `minCell` times. */
  readonly intents?: number | undefined;
  readonly minCell: number;
  readonly cells: readonly Cell[];
  readonly clients: number;
  readonly servers: number;
  readonly say: (line: string) => void;
}

export interface RunResult {
  readonly evidence: Evidence;
  readonly verdict: Verdict;
  readonly hits: ReadonlyMap<string, number>;
  readonly unhit: readonly string[];
  /** How many of the intents that were wanted were not begun. */
  readonly missing: number;
  /** How long it took after the last fault until nothing was open, in ms. */
  readonly quietMs: number;
}

const WARM_UP_MS = 1_500;
const QUIET_MS = 90_000;

/** Warm-up, faults, healing, quiet, check. Leaves nothing running. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { seed, say, cells, minCell } = options;
  const world = await startWorld(seed, options.servers);
  try {
    say(`logs of the servers: ${world.folder}`);
    const history = new History();
    const shop: Shop = { world, history, open: true, closesAt: Infinity, begun: 0, ended: 0 };
    const clients = Array.from({ length: options.clients }, (_, number) =>
      shopAs(shop, `c${number}`, new Random(seed, `client-${number}`)),
    );
    await sleep(WARM_UP_MS);
    const tally = new Tally(cells);
    const endsAt = Date.now() + options.chaosMs;
    const enough = () =>
      options.intents !== undefined &&
      shop.begun >= options.intents &&
      tally.unhit(minCell).length === 0;
    const running = () => Date.now() < endsAt && !enough();
    // With a number of intents to reach, whoever has hit every cell lets the clients work.
    const resting = () => options.intents !== undefined && tally.unhit(minCell).length === 0;
    const reports = setInterval(() => {
      say(
        `${shop.begun} intents begun, ${shop.ended} ended, ${tally.total} faults, ${tally.unhit(minCell).length} cells to hit`,
      );
    }, 10_000);
    const random = (name: string) => new Random(seed, name);
    await Promise.all(
      world.servers.map((server) =>
        haunt(server, { world, history, tally, random: random(server.name), running, resting }),
      ),
    );
    shop.open = false;
    await healAll(world);
    await Promise.all(world.servers.map((server) => server.ready()));
    const healedAt = Date.now();
    history.note('healed');
    say('healed; waiting until nothing is open');
    shop.closesAt = healedAt + QUIET_MS;
    await Promise.all(clients);
    while ((await openEntries(world)) > 0 && Date.now() < shop.closesAt) await sleep(500);
    clearInterval(reports);
    const quietMs = Date.now() - healedAt;
    const evidence = await gather(world, history, healedAt);
    const verdict = check(evidence);
    const missing = Math.max(0, (options.intents ?? 0) - shop.begun);
    return { evidence, verdict, hits: tally.hits, unhit: tally.unhit(minCell), missing, quietMs };
  } finally {
    await world.end();
  }
}
