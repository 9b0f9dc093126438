import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Books } from './books.ts';
import { Clerk } from './clerk.ts';
import { RequestLog } from './request-log.ts';
import { Scenarios } from './scenarios.ts';
import { createSimulatorServer } from './server.ts';
import { DAY_MS, type Settings } from './settings.ts';
import { Webhooks } from './webhooks.ts';

export interface SimulatorOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Where the books are; one simulator at a time. */
  readonly dataDir: string;
  readonly seed?: number;
  /** How long a key answers its first result, in ms; 24 h if left out. */
  readonly keyWindowMs?: number;
  /** How long an operation stays hidden from look-ups, in ms; 0 if left out. */
  readonly lookupLagMs?: number;
  /** How long an authorisation holds, in ms; 7 days if left out. */
  readonly authorizationWindowMs?: number;
  /** True: the process ends as soon as its standard input does, however the parent ended. */
  readonly exitWithParent?: boolean;
}

export interface Simulator {
  readonly url: string;
  close(): Promise<void>;
}

/** Opens the books and listens. Throws if the books are damaged or the port is taken. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  if (options.exitWithParent === true) exitWithParent();
  const atStart: Settings = {
    lookupLagMs: options.lookupLagMs ?? 0,
    keyWindowMs: options.keyWindowMs ?? DAY_MS,
    authorizationWindowMs: options.authorizationWindowMs ?? 7 * DAY_MS,
    seed: options.seed ?? null,
  };
  const settings = { ...atStart };
  const books = new Books(options.dataDir);
  const requests = new RequestLog(options.dataDir);
  const scenarios = new Scenarios();
  const webhooks = new Webhooks(atStart.seed ?? 0);
  const clerk = new Clerk(books, scenarios, webhooks, settings);
  const parts = { books, clerk, requests, scenarios, webhooks, settings, atStart };
  const server = createSimulatorServer(parts);
  server.listen(options.port, options.host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  return {
    url: `http://${host}:${port}`,
    close: async () => {
      clerk.stop();
      webhooks.close();
      server.close();
      server.closeAllConnections();
      await books.close();
      await requests.close();
    },
  };
}

/** The kernel closes the pipe even after `kill -9` of the parent, so no orphan is left. */
function exitWithParent(): void {
  process.stdin.on('close', () => process.exit(0));
  process.stdin.on('error', () => process.exit(0));
  process.stdin.resume();
}
