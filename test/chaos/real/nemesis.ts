import { setTimeout as sleep } from 'node:timers/promises';
import type { History } from './client.ts';
import type { Cell } from './faults.ts';
import { stepOf } from './points.ts';
import type { Random } from './random.ts';
import type { Server } from './server.ts';
import type { World } from './world.ts';

const HIT_WITHIN_MS = 6_000;
/** A point of a start is reached when there is one, which takes seconds on a slow machine. */
const START_WITHIN_MS = 60_000;

/** How often each cell was hit; and who strikes next. */
export class Tally {
  readonly #hits: Map<string, number>;
  readonly #tried = new Map<string, number>();
  readonly #cells: readonly Cell[];
  readonly #taken = new Set<Cell>();

  constructor(cells: readonly Cell[]) {
    this.#cells = cells;
    this.#hits = new Map(cells.map(({ id }) => [id, 0]));
  }

  get hits(): ReadonlyMap<string, number> {
    return this.#hits;
  }

  get total(): number {
    return [...this.#hits.values()].reduce((sum, count) => sum + count, 0);
  }

  unhit(least: number): readonly string[] {
    return [...this.#hits].filter(([, count]) => count < least).map(([id]) => id);
  }

  /** The cell that was hit and tried the least, of those that may be struck now. */
  take(random: Random): Cell | undefined {
    const busy = new Set([...this.#taken].map(({ shared }) => shared));
    const free = this.#cells.filter(
      (cell) => !this.#taken.has(cell) && !(cell.shared !== undefined && busy.has(cell.shared)),
    );
    const rank = ({ id }: Cell) => (this.#hits.get(id) ?? 0) * 4 + (this.#tried.get(id) ?? 0);
    const least = Math.min(...free.map(rank));
    const chosen = random.one(free.filter((cell) => rank(cell) === least));
    if (chosen === undefined) return undefined;
    this.#taken.add(chosen);
    this.#tried.set(chosen.id, (this.#tried.get(chosen.id) ?? 0) + 1);
    return chosen;
  }

  giveBack(cell: Cell, hit: boolean): void {
    this.#taken.delete(cell);
    if (hit) this.#hits.set(cell.id, (this.#hits.get(cell.id) ?? 0) + 1);
  }
}

export interface Strikes {
  readonly world: World;
  readonly history: History;
  readonly tally: Tally;
  readonly random: Random;
  readonly running: () => boolean;
  /** True: nothing is struck for now. */
  readonly resting: () => boolean;
  /** The shortest time between two strikes at a server, in ms. */
  readonly pauseMs: number;
}

/** Strikes one server, again and again, at the cell that was hit the least. */
export async function haunt(server: Server, strikes: Strikes): Promise<void> {
  const { tally, random, running, resting, pauseMs } = strikes;
  while (running()) {
    const cell = resting() ? undefined : tally.take(random);
    if (cell !== undefined) {
      let hit = false;
      try {
        hit = await strikeAt(server, cell, strikes);
      } finally {
        tally.giveBack(cell, hit);
      }
    }
    // A server that never gets to work shows nothing: time for its end to be seen, and to serve.
    await sleep(100);
    await server.ready();
    await sleep(random.between(pauseMs, pauseMs + 500));
  }
}

async function strikeAt(server: Server, cell: Cell, strikes: Strikes): Promise<boolean> {
  const { world, history, random } = strikes;
  await server.ready();
  const withinMs = stepOf(cell.point) === 'S' ? START_WITHIN_MS : HIT_WITHIN_MS;
  const detail = await server.arm(cell.point, cell.action, withinMs);
  if (detail === undefined) return false;
  const at = Date.now();
  try {
    await cell.strike(world, server, random);
  } finally {
    if (cell.action === 'hold') server.release();
    await cell.heal(world, server);
  }
  const { id, point, action } = cell;
  const until = Date.now();
  history.add({ kind: 'struck', at, until, cell: id, server: server.name, point, action, detail });
  return true;
}
