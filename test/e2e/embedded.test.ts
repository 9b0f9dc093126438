import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, freshKey, paid, pay, statusOf, type Target } from '../support/pay.ts';
import { makeTempDir, type TempDir } from '../support/temp-dir.ts';
import { startTestServer, type TestServer } from '../support/with-server.ts';
import { QUICK } from './world.ts';

let folder: TempDir;
const servers: TestServer[] = [];

beforeAll(async () => {
  folder = await makeTempDir();
});

afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  await folder.remove();
}, 60_000);

/** Nothing is named but the folder and, so that tests are quick, the times. */
async function start(): Promise<TestServer> {
  const env = { ...QUICK, DATA_DIR: folder.path, DEMO_API_KEY: '' };
  const server = await startTestServer({ env });
  servers.push(server);
  return server;
}

/** The server as a newcomer finds it: with the key that it prints. */
async function demoOf(server: TestServer): Promise<Target> {
  const apiKey = await eventually(
    async () => /API key of the demo merchant: (\S+)\n/.exec(server.output())?.[1],
    (key) => key !== undefined,
  );
  return { url: server.url, apiKey: apiKey ?? '' };
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly state: string;
  readonly command: string;
}

function processes(): readonly Process[] {
  const { stdout } = spawnSync('ps', ['-A', '-ww', '-o', 'pid=,ppid=,stat=,args='], {
    encoding: 'utf8',
  });
  return stdout
    .trim()
    .split('\n')
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? [])
    .map(([, pid, parent, state = '', command = '']) => ({
      pid: Number(pid),
      parent: Number(parent),
      state,
      command,
    }));
}

/** Everything that descends from a process, at any depth. */
function descendantsOf(pid: number): readonly Process[] {
  const all = processes();
  const below = (parent: number): readonly Process[] =>
    all.filter((one) => one.parent === parent).flatMap((child) => [child, ...below(child.pid)]);
  return below(pid).filter(({ command }) => !command.startsWith('ps '));
}

/** Those that still run; a recycled pid has another command. */
function alive(before: readonly Process[]): readonly Process[] {
  const now = new Map(processes().map((one) => [one.pid, one]));
  return before.filter(({ pid, command }) => {
    const found = now.get(pid);
    return found !== undefined && !found.state.startsWith('Z') && found.command === command;
  });
}

const untilGone = (before: readonly Process[]) =>
  eventually(
    async () => alive(before),
    (left) => left.length === 0,
    15_000,
  );

test('with nothing set it brings all it needs, keeps everything, and leaves nobody behind', async () => {
  const first = await start();
  const demo = await demoOf(first);
  const children = descendantsOf(first.pid);
  const commands = children.map(({ command }) => command).join('\n');
  expect(commands).toMatch(/postgres/);
  expect(commands).toMatch(/redis-server|valkey-server/);
  expect(commands).toMatch(/simulator/);
  expect(first.output()).toContain(`Semel listens on ${first.url}/graphql`);
  await eventually(
    async () => first.output(),
    (text) => /curl -s \S+\/graphql/.test(text),
  );
  const key = freshKey();
  const made = paid(await pay(demo, key));
  expect(made).toMatchObject({ payment: { status: 'CAPTURED' } });

  // A second server on the same data is refused, and does no harm.
  await expect(start()).rejects.toThrow(
    /in use by process \d+: stop that process, or set DATA_DIR/,
  );
  expect(paid(await pay(demo, key)).idempotency.outcome).toBe('REPLAYED');
  // A backend of Postgres that was forked just now still bears the command of its parent.
  const commandOf = new Map(children.map(({ pid, command }) => [pid, command]));
  const parts = children.filter(
    ({ command, parent }) =>
      /redis|valkey|simulator|-D /.test(command) && command !== commandOf.get(parent),
  );
  expect(parts.length).toBeGreaterThan(2);
  expect(alive(parts)).toEqual(parts);
  const ofFolder = () => processes().filter(({ command }) => command.includes(folder.path));
  await eventually(
    async () => {
      const own = new Set(descendantsOf(first.pid).map(({ pid }) => pid));
      return ofFolder().filter(({ pid }) => !own.has(pid));
    },
    (strangers) => strangers.length === 0,
  );

  expect(await first.stop()).toBe(0);
  await untilGone(children);

  const second = await start();
  const same = await demoOf(second);
  expect(same.apiKey).toBe(demo.apiKey);
  const again = paid(await pay(same, key));
  expect(again).toMatchObject({ payment: made.payment, idempotency: { outcome: 'REPLAYED' } });

  // kill -9, with a payment that the journal knows and whose PSP does not answer.
  const hung = freshKey();
  const doomed = descendantsOf(second.pid);
  expect(doomed.length).toBeGreaterThan(2);
  const unanswered = pay(same, hung, { paymentMethod: 'pm_execute_then_hang' });
  unanswered.catch(() => {});
  await eventually(
    () => statusOf(same, hung),
    (status) => status !== null,
  );
  await second.kill();
  await untilGone(doomed);

  const third = await start();
  const target = await demoOf(third);
  expect(paid(await pay(target, key)).payment).toEqual(made.payment);
  await eventually(
    () => statusOf(target, hung),
    (status) => status === 'CAPTURED',
  );
  const last = descendantsOf(third.pid);
  expect(await third.stop()).toBe(0);
  await untilGone(last);
}, 300_000);
