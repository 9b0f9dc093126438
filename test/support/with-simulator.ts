import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ENTRY = fileURLToPath(new URL('../../src/simulator/process.ts', import.meta.url));

export interface TestSimulatorOptions {
  /** Kept after `stop` if given; otherwise a new folder that `stop` removes. */
  readonly dataDir?: string;
  readonly port?: number;
  readonly seed?: number;
  readonly keyWindowMs?: number;
  readonly lookupLagMs?: number;
}

export interface Execution {
  readonly reference: string;
  readonly kind: 'charge' | 'authorize' | 'capture' | 'void' | 'refund' | 'confirm';
  readonly amountMinor: number;
  readonly currency: string;
  readonly idempotencyKey: string;
  readonly at: string;
}

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly reference: string | null;
  readonly idempotencyKey: string | null;
  readonly at: string;
}

export interface Scenario {
  readonly behaviour: string;
  readonly match?: {
    readonly reference?: string;
    readonly source?: string;
    readonly kind?: Execution['kind'] | 'lookup';
  };
  readonly times?: number;
  readonly delayMs?: number;
}

export interface SimulatorSettings {
  readonly lookupLagMs?: number;
  readonly keyWindowMs?: number;
  readonly authorizationWindowMs?: number;
  readonly seed?: number;
  readonly webhook?: {
    readonly url: string;
    readonly secret: string;
    readonly delayMs?: number;
    readonly copies?: number;
    readonly order?: 'fifo' | 'shuffle';
    readonly forge?: boolean;
  } | null;
}

export interface TestSimulator {
  readonly url: string;
  readonly pid: number;
  readonly dataDir: string;
  executions(reference?: string): Promise<readonly Execution[]>;
  requests(): Promise<readonly ReceivedRequest[]>;
  scenario(body: Scenario): Promise<void>;
  settings(body: SimulatorSettings): Promise<void>;
  reset(): Promise<void>;
  /** Ends the process in good order and removes its folder, unless the test brought its own. */
  stop(): Promise<void>;
  /** SIGKILL; the books stay, for a next simulator with the same `dataDir`. */
  kill(): Promise<void>;
}

/** Starts the simulator as a real process on a free port and returns once it answers. */
export async function startTestSimulator(
  options: TestSimulatorOptions = {},
): Promise<TestSimulator> {
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'semel-simulator-')));
  const child = spawn(process.execPath, argumentsFor(dataDir, options), {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const { url } = JSON.parse(await firstLine(child)) as { url: string };
  return {
    url,
    pid: child.pid ?? 0,
    dataDir,
    executions: (reference) =>
      get(`${url}/admin/executions${reference === undefined ? '' : `?reference=${reference}`}`),
    requests: () => get(`${url}/admin/requests`),
    scenario: (body) => post(`${url}/admin/scenario`, body),
    settings: (body) => post(`${url}/admin/settings`, body),
    reset: () => post(`${url}/admin/reset`, {}),
    kill: () => end(child, 'SIGKILL'),
    stop: async () => {
      await end(child, 'SIGTERM');
      if (options.dataDir === undefined) await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Lends a simulator to `use` and stops it however that ends. */
export async function withSimulator<T>(
  use: (simulator: TestSimulator) => Promise<T>,
  options: TestSimulatorOptions = {},
): Promise<T> {
  const simulator = await startTestSimulator(options);
  try {
    return await use(simulator);
  } finally {
    await simulator.stop();
  }
}

function argumentsFor(dataDir: string, options: TestSimulatorOptions): readonly string[] {
  const { port = 0, seed, keyWindowMs, lookupLagMs } = options;
  const numbers = { port, seed, 'key-window-ms': keyWindowMs, 'lookup-lag-ms': lookupLagMs };
  const flags = Object.entries(numbers).flatMap(([flag, value]) =>
    value === undefined ? [] : [`--${flag}`, String(value)],
  );
  return ['--import', 'tsx', ENTRY, '--parent-pipe', '--data-dir', dataDir, ...flags];
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('the simulator has no standard output');
  const lines = createInterface({ input: child.stdout });
  for await (const line of lines) return line;
  throw new Error('the simulator ended before it was ready');
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill(signal);
  await ended;
}

async function get<T>(url: string): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`GET ${url} → ${response.status}`);
  return (await response.json()) as T;
}

async function post(url: string, body: unknown): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) {
    throw new Error(`POST ${url} → ${response.status} ${await response.text()}`);
  }
  await response.body?.cancel();
}
