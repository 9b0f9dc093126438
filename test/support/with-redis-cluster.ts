import { freePort, startTestRedis, type TestRedis } from './with-redis.ts';
import { call, until } from './with-sentinels.ts';

const PRIMARIES = 3;
const SLOTS = 16_384;
const NODE_TIMEOUT_MS = 1_000;

/** Three primaries with a replica each, six processes. */
export interface TestRedisCluster {
  readonly url: string;
  readonly nodes: readonly TestRedis[];
  /** The nodes that own slots now. */
  primaries(): Promise<readonly TestRedis[]>;
  /** Makes a replica of this primary the primary of its slots, and returns once it is. */
  failOver(primary: TestRedis): Promise<TestRedis>;
  /** Returns once another node owns this one's slots. */
  untilNot(old: TestRedis): Promise<void>;
  /** Returns once every slot is owned, and every primary has a replica that is up to date. */
  whole(): Promise<void>;
  stop(): Promise<void>;
}

export async function startTestRedisCluster(): Promise<TestRedisCluster> {
  const nodes: TestRedis[] = [];
  const busPorts: number[] = [];
  for (let number = 0; number < 2 * PRIMARIES; number += 1) {
    const busPort = await freePort();
    busPorts.push(busPort);
    nodes.push(await startTestRedis({ args: argumentsFor(busPort) }));
  }
  await join(nodes, busPorts);
  const primaries = async () => {
    const roles = await Promise.all(
      nodes.map(async (node) => ({ node, role: await roleOf(node) })),
    );
    return roles.filter(({ role }) => role === 'primary').map(({ node }) => node);
  };
  const whole = async () => {
    await until('a whole cluster', async () => {
      const states = await Promise.all(nodes.map(isWhole));
      return states.every(Boolean) && (await primaries()).length === PRIMARIES ? true : undefined;
    });
  };
  const untilNot = async (old: TestRedis) => {
    await until('another primary', async () => {
      const others = (await primaries()).filter((node) => node !== old);
      return others.length === PRIMARIES ? true : undefined;
    });
  };
  await whole();
  return {
    url: `redis-cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    nodes,
    primaries,
    failOver: async (primary) => {
      const replica = await until('a replica', () => replicaOf(nodes, primary));
      await until('a failover', () => call(replica, ['CLUSTER', 'FAILOVER']));
      await until('the new primary', async () =>
        (await roleOf(replica)) === 'primary' ? true : undefined,
      );
      return replica;
    },
    untilNot,
    whole,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

function argumentsFor(busPort: number): readonly string[] {
  return [
    ...['--cluster-enabled', 'yes', '--cluster-port', String(busPort)],
    ...['--cluster-announce-ip', '127.0.0.1'],
    ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS)],
    ...['--cluster-require-full-coverage', 'no', '--cluster-allow-replica-migration', 'no'],
  ];
}

async function join(nodes: readonly TestRedis[], busPorts: readonly number[]): Promise<void> {
  const ids: string[] = [];
  for (const node of nodes) ids.push(String(await call(node, ['CLUSTER', 'MYID'])));
  for (const [number, node] of nodes.entries()) {
    if (number < PRIMARIES) {
      const first = Math.floor((SLOTS * number) / PRIMARIES);
      const last = Math.floor((SLOTS * (number + 1)) / PRIMARIES) - 1;
      await call(node, ['CLUSTER', 'ADDSLOTSRANGE', String(first), String(last)]);
    }
    const meet = ['CLUSTER', 'MEET', '127.0.0.1', String(node.port), String(busPorts[number])];
    if (number > 0) await call(nodes[0] as TestRedis, meet);
  }
  for (const [number, node] of nodes.slice(PRIMARIES).entries()) {
    await until('an acquaintance', () => call(node, ['CLUSTER', 'REPLICATE', ids[number] ?? '']));
  }
}

async function infoOf(node: TestRedis): Promise<string> {
  return String(await call(node, ['INFO', 'replication']).catch(() => ''));
}

/** A primary that has lost its slots to its replica is on its way to become one itself. */
async function roleOf(node: TestRedis): Promise<'primary' | 'replica' | 'none'> {
  const myself = String(await call(node, ['CLUSTER', 'NODES']).catch(() => ''))
    .split('\n')
    .find((line) => line.includes('myself'));
  if (myself === undefined) return 'none';
  const isPrimary = / myself,master .*\d+-\d+$/.test(myself.trim());
  return isPrimary ? 'primary' : 'replica';
}

async function isWhole(node: TestRedis): Promise<boolean> {
  const state = String(await call(node, ['CLUSTER', 'INFO']).catch(() => ''));
  const said = await infoOf(node);
  const linked = said.includes('role:master')
    ? said.includes('state=online')
    : said.includes('master_link_status:up');
  return /cluster_state:ok/.test(state) && /cluster_slots_ok:16384/.test(state) && linked;
}

async function replicaOf(
  nodes: readonly TestRedis[],
  primary: TestRedis,
): Promise<TestRedis | undefined> {
  for (const node of nodes) {
    const said = await infoOf(node);
    const isIts = said.includes(`master_port:${primary.port}`);
    if (isIts && said.includes('master_link_status:up')) return node;
  }
  return undefined;
}
