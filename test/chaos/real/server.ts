import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from './clock.ts';
import { type Action, type Point, stepOf } from './points.ts';

const READY_WITHIN_MS = 120_000;
const STOP_WITHIN_MS = 20_000;
/** A server that cannot start, since the database is down perhaps, is not started all the time. */
const PAUSE_MS = 100;

export interface ServerOptions {
  readonly name: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  /** What Node runs. */
  readonly entry: string;
  /** Takes what it prints. */
  readonly logFile: string;
  readonly clock: Clock | undefined;
}

interface Armed {
  readonly point: Point;
  readonly action: Action;
  readonly hit: (detail: string) => void;
}

/** One server that is started again whenever it has ended, at the same address. */
export class Server {
  readonly name: string;
  readonly port: number;
  readonly clock: Clock | undefined;
  /** How long each start took until it answered, in ms. */
  readonly starts: number[] = [];
  readonly #url: string;
  readonly #options: ServerOptions;
  #child: ChildProcess | undefined;
  #armed: Armed | undefined;
  #wanted = true;
  #ready: Promise<void>;

  constructor(options: ServerOptions) {
    this.name = options.name;
    this.port = options.port;
    this.clock = options.clock;
    this.#url = `http://127.0.0.1:${options.port}`;
    this.#options = options;
    this.#ready = this.#start();
  }

  /** When it answers, after whatever start is under way. */
  ready(): Promise<void> {
    return this.#ready;
  }

  /**
   * Arms a blow. At a point of a start the server is ended first, so that there is one.
   *
   * @returns what the server said of where it fell, or undefined if it did not within `ms`
   */
  async arm(point: Point, action: Action, ms: number): Promise<string | undefined> {
    await this.ready();
    const fallen = new Promise<string>((hit) => {
      this.#armed = { point, action, hit };
    });
    if (stepOf(point) === 'S') this.signal('SIGKILL');
    else this.#say(`arm ${point} ${action}`);
    if (point === 'draining') this.signal('SIGTERM');
    const timeOut = new AbortController();
    const late = sleep(ms, undefined, { signal: timeOut.signal }).catch(() => undefined);
    const detail = await Promise.race([fallen, late]);
    timeOut.abort();
    this.#armed = undefined;
    if (detail === undefined) this.#say('disarm');
    return detail;
  }

  /** Lets a held request go on. */
  release(): void {
    this.#say('go');
  }

  signal(name: NodeJS.Signals): void {
    this.#child?.kill(name);
  }

  /** In good order, and for good. */
  async stop(): Promise<void> {
    this.#wanted = false;
    await this.#ready.catch(() => {});
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGCONT');
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
    await gone;
    clearTimeout(timer);
  }

  #say(line: string): void {
    (this.#child?.stdin as Writable | undefined)?.write(`${line}\n`);
  }

  #heard(line: string): void {
    const [, point, ...detail] = line.split(' ');
    if (this.#armed?.point === point) this.#armed?.hit(detail.join(' '));
  }

  async #start(): Promise<void> {
    const { env, port, logFile, entry, clock } = this.#options;
    const { NODE_ENV: _, VITEST: __, ...inherited } = process.env;
    const armed = this.#armed;
    const child = spawn(process.execPath, ['--no-warnings', entry], {
      env: {
        ...inherited,
        PORT: String(port),
        LOG_LEVEL: 'info',
        ...env,
        ...clock?.env,
        // One that is to be struck while it starts cannot be told so later.
        ...(armed === undefined ? {} : { ARMED: `${armed.point} ${armed.action}` }),
      },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    const log = createWriteStream(logFile, { flags: 'a' });
    for (const stream of [child.stdout, child.stderr]) stream?.pipe(log, { end: false });
    child.stdin?.on('error', () => {});
    createInterface({ input: child.stdio[3] as Readable }).on('line', (line) => this.#heard(line));
    child.once('exit', () => {
      log.end();
      if (this.#wanted) this.#ready = sleep(PAUSE_MS).then(() => this.#start());
      this.#ready.catch(() => {});
    });
    await this.#untilReady(child);
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    const begunAt = performance.now();
    while (performance.now() < begunAt + READY_WITHIN_MS) {
      const answer = await fetch(`${this.#url}/healthz`, {
        signal: AbortSignal.timeout(1_000),
      }).catch(() => undefined);
      if (answer?.ok) {
        this.starts.push(performance.now() - begunAt);
        return;
      }
      if (child.exitCode !== null || child.signalCode !== null) break;
      await sleep(50);
    }
    // What could not start, since the database was down perhaps, is started again.
    if (!this.#wanted || child.exitCode !== null || child.signalCode !== null) return;
    throw new Error(`${this.name} does not start; see ${this.#options.logFile}`);
  }
}
