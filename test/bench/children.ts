import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** `npm run` stands in the folder of the package, also when this file runs compiled. */
export const ROOT = process.cwd();

export type Environment = Readonly<Record<string, string>>;

/** A process of the bench that serves something. */
export interface Child {
  readonly pid: number;
  readonly url: string;
  readonly process: ChildProcess;
  /** SIGTERM, and SIGKILL if that does not help. */
  stop(): Promise<void>;
  kill(): Promise<void>;
}

const READY_MS = 60_000;
const STOP_MS = 20_000;
const ANSWER_MS = 600_000;
const OUTPUT_KEPT = 4_000;
const alive = new Set<ChildProcess>();

/** Whatever ends this process, no server of it stays behind. */
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** As its users run it: production, and nothing of this process's own settings. */
function environmentWith(environment: Environment): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, PG_BIN } = process.env;
  const some = Object.entries({ PATH, HOME, TMPDIR, PG_BIN }).filter(([, value]) => value);
  return { ...Object.fromEntries(some), NODE_ENV: 'production', ...environment };
}

/** Runs a node script that prints its address; `address` finds it in what was printed. */
export async function startChild(
  args: readonly string[],
  environment: Environment,
  address: RegExp,
): Promise<Child> {
  const child = spawn(process.execPath, [...args], {
    cwd: ROOT,
    env: environmentWith(environment),
    stdio: ['pipe', 'pipe', 'pipe', 'ipc'],
  });
  const exited = once(child, 'exit');
  alive.add(child);
  void exited.then(() => alive.delete(child));
  const url = await untilReady(child, address);
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    if (child.exitCode === null && child.signalCode === null) await exited;
    clearTimeout(timer);
  };
  return {
    pid: child.pid as number,
    url,
    process: child,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

function untilReady(child: ChildProcess, address: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    const fail = (why: string) => {
      child.kill('SIGKILL');
      reject(new Error(`${child.spawnargs.slice(1).join(' ')}: ${why}\n${text}`));
    };
    const timer = setTimeout(() => fail('not ready in time'), READY_MS);
    child.once('exit', () => fail('ended before it was ready'));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (chunk: string) => {
        text = (text + chunk).slice(-OUTPUT_KEPT);
        const url = address.exec(text)?.[1];
        if (url === undefined) return;
        clearTimeout(timer);
        resolve(url);
      });
    }
  });
}

/** A script of this folder, compiled, that prints one JSON line with its `url`. */
export function startOwn(name: string, environment: Environment, args: readonly string[] = []) {
  return startChild(
    [join(import.meta.dirname, `${name}.js`), ...args],
    environment,
    /"url":"([^"]+)"/,
  );
}

/** Runs a node script to its end. @returns what it printed */
export async function runNode(args: readonly string[], environment: Environment): Promise<string> {
  const options = { cwd: ROOT, env: environmentWith(environment) };
  const { stdout } = await promisify(execFile)(process.execPath, [...args], options);
  return stdout;
}

/** A child that is asked one thing at a time over IPC, and answers it. */
export class Worker<Question extends object, Answer extends object> {
  readonly #child: ChildProcess;

  constructor(name: string, environment: Environment = {}) {
    this.#child = fork(join(import.meta.dirname, `${name}.js`), {
      env: environmentWith(environment),
      execArgv: [],
    });
    alive.add(this.#child);
    this.#child.once('exit', () => alive.delete(this.#child));
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Rejects if there is no answer in time: a server that hangs must not hang the bench. */
  ask(question: Question): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('A server did not answer.')), ANSWER_MS);
      const ended = () => reject(new Error('A worker of the bench has ended.'));
      this.#child.once('exit', ended);
      this.#child.once('message', (answer: Answer | { error: string }) => {
        this.#child.off('exit', ended);
        clearTimeout(timer);
        if ('error' in answer) reject(new Error(String(answer.error)));
        else resolve(answer);
      });
      this.#child.send(question);
    });
  }

  stop(): void {
    if (this.#child.connected) this.#child.disconnect();
  }
}
