import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestRedis, type TestRedis } from './with-redis.ts';

const NAME = 'semel';
const SENTINELS = 3;
const DOWN_AFTER_MS = 700;
const FAILOVER_TIMEOUT_MS = 3_000;
const WITHIN_MS = 30_000;

/** Two data nodes under three sentinels, five processes in all. */
export interface TestSentinels {
  readonly url: string;
  readonly nodes: readonly TestRedis[];
  /** The node that the sentinels agree on. */
  primary(): Promise<TestRedis>;
  /** Has the sentinels make the other node the primary, and returns once they name it. */
  failOver(): Promise<TestRedis>;
  /** Returns once the sentinels name another node than this. */
  untilNot(old: TestRedis): Promise<TestRedis>;
  /** Returns once there is a primary again, and a replica that has all of its data. */
  whole(): Promise<void>;
  stop(): Promise<void>;
}

export async function startTestSentinels(): Promise<TestSentinels> {
  const folder = await mkdtemp(join(tmpdir(), 'semel-sentinels-'));
  const nodes = await Promise.all([startTestRedis(), startTestRedis()]);
  const [first, second] = nodes as [TestRedis, TestRedis];
  await call(second, ['REPLICAOF', '127.0.0.1', String(first.port)]);
  const sentinels: TestRedis[] = [];
  for (let number = 1; number <= SENTINELS; number += 1) {
    const file = join(folder, `sentinel-${number}.conf`);
    await writeFile(file, configuration(first.port));
    sentinels.push(await startTestRedis({ config: file, args: ['--sentinel'] }));
  }
  const ask = async (...words: string[]): Promise<unknown> => {
    for (const sentinel of sentinels) {
      const answer = await call(sentinel, ['SENTINEL', ...words]).catch(() => undefined);
      if (answer !== undefined) return answer;
    }
    return undefined;
  };
  const named = async () => {
    const address = (await ask('GET-MASTER-ADDR-BY-NAME', NAME)) as [string, string] | null;
    return nodes.find(({ port }) => String(port) === address?.[1]);
  };
  const untilNot = (old: TestRedis) =>
    until('another primary', async () => {
      const now = await named();
      return now === old ? undefined : now;
    });
  const whole = async () => {
    await until('a primary and its replica', async () => {
      const primary = await named();
      if (primary === undefined) return undefined;
      const said = await replicationOf(primary);
      return /role:master/.test(said) && /state=online/.test(said) ? primary : undefined;
    });
  };
  await until('three sentinels that know each other', async () => {
    const known = await Promise.all(
      sentinels.map((one) => call(one, ['SENTINEL', 'CKQUORUM', NAME]).catch(() => 'no')),
    );
    const all = known.every((answer) => String(answer).startsWith(`OK ${SENTINELS}`));
    return all ? true : undefined;
  });
  await whole();
  return {
    url: `redis-sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${NAME}`,
    nodes,
    primary: () => until('a primary', named),
    untilNot,
    failOver: async () => {
      const old = await until('a primary', named);
      // Refused while the last failover goes on, or while no replica is fit for it.
      await until('a failover', () => ask('FAILOVER', NAME));
      return untilNot(old);
    },
    whole,
    stop: async () => {
      await Promise.all([...sentinels, ...nodes].map((one) => one.stop()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function configuration(port: number): string {
  return [
    `sentinel monitor ${NAME} 127.0.0.1 ${port} 2`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} ${FAILOVER_TIMEOUT_MS}`,
    `sentinel parallel-syncs ${NAME} 1`,
    '',
  ].join('\n');
}

const replicationOf = async (redis: TestRedis): Promise<string> =>
  String(await call(redis, ['INFO', 'replication']).catch(() => ''));

/** One command over a connection of its own; a node that is down or stopped fails it soon. */
export async function call(
  redis: TestRedis,
  [command = '', ...words]: readonly string[],
): Promise<unknown> {
  const client = redis.client();
  const late = sleep(1_000, undefined, { ref: false }).then(() => {
    throw new Error(`${command} was not answered`);
  });
  late.catch(() => {});
  try {
    const answer = client.call(command, ...words);
    answer.catch(() => {});
    return await Promise.race([answer, late]);
  } finally {
    client.disconnect();
  }
}

/** Asks until there is an answer. */
export async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const endsAt = performance.now() + WITHIN_MS;
  while (performance.now() < endsAt) {
    const answer = await ask().catch(() => undefined);
    if (answer !== undefined) return answer;
    await sleep(50);
  }
  throw new Error(`Redis has not come to ${what} in ${WITHIN_MS} ms.`);
}
