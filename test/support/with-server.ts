import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { makeTempDir } from './temp-dir.ts';

export interface TestServer {
  readonly url: string;
  readonly apiKey: string;
  readonly pid: number;
  /** Everything it printed so far, both streams. */
  output(): string;
  /** SIGTERM, and waits for the end. @returns the exit code */
  stop(): Promise<number | null>;
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>;
}

export interface ServerOptions {
  /** Environment variables, over those of the test; PORT is 0 unless given. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another build of `semel`; the sources if left out. */
  readonly cli?: string;
}

export const TEST_API_KEY = 'sk_test_the_key_of_the_demo_merchant';
const READY_WITHIN_MS = 60_000;
const CLI = join(import.meta.dirname, '../../src/main/cli.ts');

/** Runs `semel serve` as a process of its own. What the environment does not name is embedded. */
export async function startTestServer({
  env = {},
  cli = CLI,
}: ServerOptions = {}): Promise<TestServer> {
  const folder = await makeTempDir();
  const { NODE_ENV: _, VITEST: __, ...inherited } = process.env;
  const child = spawn(process.execPath, ['--import', 'tsx', cli, 'serve'], {
    env: {
      ...inherited,
      PORT: '0',
      DATA_DIR: folder.path,
      DEMO_API_KEY: TEST_API_KEY,
      LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
  }
  const ended = once(child, 'exit').then(async ([code]: unknown[]) => {
    await folder.remove();
    return code as number | null;
  });
  const url = await untilListening(child, () => text);
  const end = (signal: NodeJS.Signals) => {
    child.kill(signal);
    return ended;
  };
  return {
    url,
    apiKey: env['DEMO_API_KEY'] ?? TEST_API_KEY,
    pid: child.pid as number,
    output: () => text,
    stop: () => end('SIGTERM'),
    kill: async () => {
      await end('SIGKILL');
    },
  };
}

async function untilListening(child: ChildProcess, text: () => string): Promise<string> {
  const endsAt = performance.now() + READY_WITHIN_MS;
  while (performance.now() < endsAt) {
    const url = /listens on (\S+)\/graphql/.exec(text())?.[1];
    if (url !== undefined) return url;
    if (child.exitCode !== null || child.signalCode !== null) break;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  child.kill('SIGKILL');
  throw new Error(`The server did not start:\n${text()}`);
}
