import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Action, Point } from './points.ts';

const READY_WITHIN_MS = 60_000;

export interface ServerOptions {
  readonly name: string;
  readonly port: number;
  readonly env: Readonly<Record<string, string>>;
  /** What Node runs. */
  readonly entry: string;
  /** Takes what it prints. */
  readonly logFile: string;
}

/** One server that is started again whenever it has ended, at the same address. */
export class Server {
  readonly name: string;
  readonly url: string;
  readonly #options: ServerOptions;
  #child: ChildProcess | undefined;
  #hit: (point: Point) => void = () => {};
  #wanted = true;
  #ready: Promise<void>;
  starts = 0;

  constructor(options: ServerOptions) {
    this.name = options.name;
    this.url = `http://127.0.0.1:${options.port}`;
    this.#options = options;
    this.#ready = this.#start();
  }

  /** When it answers, after whatever start is under way. */
  ready(): Promise<void> {
    return this.#ready;
  }

  /** Arms a blow. @returns whether it fell within `ms` */
  async arm(point: Point, action: Action, ms: number): Promise<boolean> {
    await this.ready();
    const hit = new Promise<boolean>((resolve) => {
      this.#hit = (at) => at === point && resolve(true);
    });
    this.#say(`arm ${point} ${action}`);
    const fell = await Promise.race([hit, sleep(ms, false)]);
    if (!fell) this.#say('disarm');
    return fell;
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
    const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
    await gone;
    clearTimeout(timer);
  }

  #say(line: string): void {
    (this.#child?.stdin as Writable | undefined)?.write(`${line}\n`);
  }

  async #start(): Promise<void> {
    this.starts += 1;
    const { env, port, logFile, entry } = this.#options;
    const { NODE_ENV: _, VITEST: __, ...inherited } = process.env;
    const child = spawn(process.execPath, [entry], {
      env: { ...inherited, PORT: String(port), LOG_LEVEL: 'warn', ...env },
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    const log = createWriteStream(logFile, { flags: 'a' });
    for (const stream of [child.stdout, child.stderr]) stream?.pipe(log, { end: false });
    child.stdin?.on('error', () => {});
    createInterface({ input: child.stdio[3] as Readable }).on('line', (line) => {
      this.#hit(line.slice('hit '.length) as Point);
    });
    child.once('exit', () => {
      log.end();
      if (this.#wanted) this.#ready = this.#start();
      this.#ready.catch(() => {});
    });
    await this.#untilReady(child);
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    const endsAt = performance.now() + READY_WITHIN_MS;
    while (performance.now() < endsAt) {
      const answer = await fetch(`${this.url}/healthz`).catch(() => undefined);
      if (answer?.ok) return;
      if (child.exitCode !== null || child.signalCode !== null) break;
      await sleep(50);
    }
    // What could not start, since the database was down perhaps, is started again.
    if (!this.#wanted || child.exitCode !== null || child.signalCode !== null) return;
    throw new Error(`${this.name} does not start; see ${this.#options.logFile}`);
  }
}
