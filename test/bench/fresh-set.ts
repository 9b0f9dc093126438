import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, Worker } from './children.ts';
import type { JournalRound } from './journal-worker.ts';
import type { Round, Seen } from './load.ts';
import type { Mode } from './modes.ts';
import { findPgbench, preparePgbench, runPgbench } from './pgbench.ts';
import type { Stage } from './stage.ts';
import { SEMEL, type System } from './systems.ts';

/** A system that runs, with what its requests need. */
interface Live {
  readonly system: System;
  readonly children: readonly Child[];
  readonly prepared: string;
  readonly databaseUrl: string;
}

interface Pgbench {
  readonly program: string;
  readonly file: string;
  readonly url: string;
}

/** How long a mode is played: so many ms, or so many requests. */
export type Length = { readonly ms: number } | { readonly requests: number };

/** Longer than a server keeps an answer in its own memory. */
const FORGOTTEN_MS = 2_500;

/** The storm goes to two of them; all else to the first. */
const PROCESSES: Readonly<Record<string, number>> = { semel: 2 };

/**
 * Processes that have served nothing yet, for every system that the modes ask; with databases and PSP
 * of their own. Two processes of one program may differ by half in speed, so one set proves little.
 */
export class FreshSet {
  readonly psp: Child;
  readonly #stage: Stage;
  readonly #load = new Worker<Round, Seen>('load');
  readonly #live = new Map<string, Live>();
  readonly #databases: string[] = [];
  readonly #merchantId = randomUUID();
  #journal: Worker<JournalRound, Seen> | undefined;
  #pgbench: Pgbench | undefined;

  private constructor(stage: Stage, psp: Child) {
    this.#stage = stage;
    this.psp = psp;
  }

  static async start(
    stage: Stage,
    modes: readonly Mode[],
    systems: readonly System[],
  ): Promise<FreshSet> {
    await stage.flushAll();
    const set = new FreshSet(stage, await stage.startPsp());
    const asked = new Set(modes.map(({ system }) => system));
    // Migrations of one cluster wait for each other: one after another is no slower.
    for (const system of systems) if (asked.has(system.name)) await set.#startSystem(system);
    if (asked.has('journal')) await set.#startJournal();
    if (asked.has('pgbench')) await set.#preparePgbench();
    return set;
  }

  async play(mode: Mode, length: Length): Promise<Seen> {
    const { concurrency } = mode.round;
    if (mode.by === 'journal') {
      return (this.#journal as Worker<JournalRound, Seen>).ask({
        merchantId: this.#merchantId,
        concurrency,
        ...length,
      });
    }
    if (mode.by === 'pgbench') {
      const { program, file, url } = this.#pgbench as Pgbench;
      return runPgbench(program, file, url, 'ms' in length ? length.ms : 1_000);
    }
    return this.#load.ask({ ...this.#roundOf(mode), ...length });
  }

  /** Brings what the mode reads to where it is read from; not to be measured. */
  async ready(mode: Mode): Promise<void> {
    if (mode.by !== 'load') return;
    const round = this.#roundOf(mode);
    if (mode.redis === 'emptied') await this.#stage.flush(this.#liveOf(mode).system.database);
    if (mode.redis === 'rested') {
      await this.#load.ask(round);
      await sleep(FORGOTTEN_MS);
    }
    if (mode.round.keys === 'recent') await this.#load.ask({ ...round, requests: 1_000 });
  }

  #liveOf(mode: Mode): Live {
    return this.#live.get(mode.system) as Live;
  }

  #roundOf(mode: Mode): Round {
    const { system, children, prepared } = this.#liveOf(mode);
    const origins = children.map(({ url }) => new URL(url).origin);
    return {
      ...system.ask(mode.paymentMethod, prepared),
      ...mode.round,
      origins: mode.round.duplicates === undefined ? origins.slice(0, 1) : origins,
      // A key that comes with another payment method is refused: those are kept apart.
      set: `${mode.system} ${mode.paymentMethod}`,
    };
  }

  /** The processes of each part while a mode is played; those of other systems under `others`. */
  pids(mode: Mode): Readonly<Record<string, readonly number[]>> {
    const live = this.#live.get(mode.system);
    const journal = this.#journal === undefined ? [] : [this.#journal.pid];
    const own = mode.by === 'journal' ? journal : (live?.children.map(({ pid }) => pid) ?? []);
    const all = [...this.#live.values()].flatMap(({ children }) => children.map(({ pid }) => pid));
    return {
      server: own,
      postgres: [this.#stage.postgres.pid],
      redis: [this.#stage.redisPid],
      psp: [this.psp.pid],
      load: [this.#load.pid],
      others: [...all, ...journal].filter((pid) => !own.includes(pid)),
    };
  }

  /** The databases of the systems that are Semel, by name. */
  journals(): ReadonlyMap<string, string> {
    const ours = [...this.#live.values()].filter(({ system }) => system.isSemel);
    return new Map(ours.map(({ system, databaseUrl }) => [system.name, databaseUrl]));
  }

  async stop(): Promise<void> {
    this.#load.stop();
    this.#journal?.stop();
    const children = [...this.#live.values()].flatMap((live) => live.children);
    await Promise.all(children.map((child) => child.stop()));
    await this.psp.stop();
    for (const name of this.#databases) await this.#stage.dropDatabase(name);
    if (this.#pgbench !== undefined) await rm(this.#pgbench.file, { force: true });
  }

  async #database(name: string): Promise<string> {
    const full = `set_${name.replaceAll('-', '_')}`;
    await this.#stage.dropDatabase(full);
    this.#databases.push(full);
    return this.#stage.createDatabase(full);
  }

  async #startSystem(system: System): Promise<void> {
    const databaseUrl = await this.#database(system.name);
    const redisUrl = this.#stage.redisUrl(system.database);
    const place = { databaseUrl, redisUrl, simulatorUrl: this.psp.url };
    const prepared = await system.prepare(place);
    const children: Child[] = [];
    // Known at once, so that what has started is stopped even if the next one does not start.
    this.#live.set(system.name, { system, children, prepared, databaseUrl });
    for (let count = PROCESSES[system.name] ?? 1; count > 0; count -= 1) {
      children.push(await system.start(place, {}));
    }
  }

  async #startJournal(): Promise<void> {
    const url = await this.#database('journal');
    const redisUrl = this.#stage.redisUrl(SEMEL.database);
    await SEMEL.prepare({ databaseUrl: url, redisUrl, simulatorUrl: this.psp.url });
    this.#journal = new Worker('journal-worker', { DATABASE_URL: url });
  }

  async #preparePgbench(): Promise<void> {
    const program = findPgbench();
    if (program === undefined)
      throw new Error('pgbench is needed; set PG_BIN, or leave it out by --modes.');
    const url = await this.#database('pgbench');
    this.#pgbench = { program, file: await preparePgbench(url), url };
  }
}
