import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkRedis, connectRedis, type RedisConnections } from '../../src/redis/index.ts';
import {
  freePort,
  startTestRedis,
  type TestRedis,
  type TestRedisOptions,
} from '../support/with-redis.ts';
import { openStore } from './redis-bench.ts';

async function withRedis(
  options: TestRedisOptions,
  work: (redis: TestRedis) => Promise<void>,
): Promise<void> {
  const redis = await startTestRedis(options);
  try {
    await work(redis);
  } finally {
    await redis.stop();
  }
}

async function withConnections(
  url: string,
  work: (connections: RedisConnections) => Promise<void>,
): Promise<void> {
  const connections = connectRedis(url);
  try {
    expect(await connections.ready(5_000)).toBe(true);
    await work(connections);
  } finally {
    connections.close();
  }
}

/** Claims, settles and replays over the URL, with somebody waiting. */
async function paysOnce(url: string): Promise<void> {
  const store = await openStore(url, { budgetMs: 2_000 });
  try {
    const mine = { intent: { scope: 'm', key: 'k' }, fingerprint: 'f', token: 'mine' };
    expect(await store.claim(mine, 9_000)).toEqual({ kind: 'run' });
    const started = performance.now();
    const woken = store.wait(mine.intent, 5_000);
    expect(await store.settle(mine, '=1', 9_000)).toBe(true);
    await woken;
    expect(performance.now() - started).toBeLessThan(3_000);
    const replay = { kind: 'replay', answer: '=1' };
    expect(await store.claim({ ...mine, token: 'theirs' }, 9_000)).toEqual(replay);
  } finally {
    store.close();
  }
}

describe('connectRedis', () => {
  it('takes the path of a socket', () => withRedis({}, (redis) => paysOnce(redis.socketUrl)));

  it('takes a database number', () =>
    withRedis({}, async (redis) => {
      await paysOnce(`${redis.url}/3`);
      const admin = redis.client();
      await admin.select(3);
      expect(await admin.dbsize()).toBe(1);
    }));

  it('takes a password, with and without a user', () =>
    withRedis({ password: 'p:w/d' }, async (redis) => {
      const host = `127.0.0.1:${redis.port}`;
      await paysOnce(`redis://:p%3Aw%2Fd@${host}`);
      await withConnections(`redis://default:p%3Aw%2Fd@${host}`, async () => {});
    }));

  it('tells of a wrong password without repeating it', () =>
    withRedis({ password: 'right' }, async (redis) => {
      const told: Error[] = [];
      const connections = connectRedis(`redis://:hunter2@127.0.0.1:${redis.port}`, {
        onError: (error) => told.push(error),
      });
      try {
        await expect.poll(() => told.length).toBeGreaterThan(0);
        expect(await connections.ready(100)).toBe(false);
        expect(JSON.stringify(told.map((error) => [error, error.stack]))).not.toContain('hunter2');
      } finally {
        connections.close();
      }
    }));

  it('takes a cluster', async () => {
    const busPort = await freePort();
    const known = ['--cluster-announce-ip', '127.0.0.1', '--cluster-port', `${busPort}`];
    await withRedis({ args: ['--cluster-enabled', 'yes', ...known] }, async (redis) => {
      const admin = redis.client();
      await admin.cluster('ADDSLOTSRANGE', 0, 16_383);
      await expect
        .poll(() => admin.cluster('INFO'), { timeout: 10_000 })
        .toContain('cluster_state:ok');
      await paysOnce(`redis-cluster://127.0.0.1:${redis.port}`);
    });
  });

  it('takes sentinels and the name of the primary', () =>
    withRedis({}, (primary) =>
      withSentinel(primary, (port) => paysOnce(`redis-sentinel://127.0.0.1:${port}/payments`)),
    ));

  it.each([
    'http://example.test',
    'localhost:6379',
    'redis://',
    'redis://host/payments',
    'redis://user:hunter2@host:notaport',
    'redis-cluster://host:1/0',
    'redis-sentinel://user:hunter2@host:1,host:2',
    'redis-sentinel://host:port/name',
    'unix://relative/path',
    '',
  ])('refuses %j with what is accepted, and repeats no password', (url) => {
    expect(() => connectRedis(url)).toThrow(
      /redis:\/\/.*unix:\/\/\/.*redis-sentinel:.*redis-cluster:/,
    );
    expect(() => connectRedis(url)).not.toThrow(/hunter2/);
  });

  it('returns at once when nothing listens, and says so to the listener', async () => {
    const reasons: string[] = [];
    const connections = connectRedis('redis://127.0.0.1:1', {
      onError: ({ reason }) => reasons.push(reason),
    });
    expect(await connections.ready(200)).toBe(false);
    connections.close();
    expect(reasons).toContain('ECONNREFUSED');
  });
});

/** A sentinel is the same program in another mode; it wants a file to write its state to. */
async function withSentinel(
  primary: TestRedis,
  work: (port: number) => Promise<void>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'semel-sentinel-'));
  const file = join(directory, 'sentinel.conf');
  await writeFile(file, `sentinel monitor payments 127.0.0.1 ${primary.port} 1\n`);
  const sentinel = await startTestRedis({ config: file, args: ['--sentinel'] });
  try {
    await work(sentinel.port);
  } finally {
    await sentinel.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

describe('checkRedis', () => {
  it('has nothing to say of a Redis that is set up well', () =>
    withRedis({}, (redis) =>
      withConnections(redis.url, async (connections) => {
        expect(await checkRedis(connections)).toEqual([]);
      }),
    ));

  it('warns of an eviction policy that may delete locks', () =>
    withRedis({ args: ['--maxmemory-policy', 'allkeys-lru'] }, (redis) =>
      withConnections(redis.url, async (connections) => {
        const [warning, ...more] = await checkRedis(connections);
        expect(warning).toMatch(/allkeys-lru.*noeviction/);
        expect(more).toEqual([]);
      }),
    ));

  it('warns of a replica', () =>
    withRedis(
      { args: ['--replicaof', '127.0.0.1', '1', '--replica-serve-stale-data', 'yes'] },
      (redis) =>
        withConnections(redis.url, async (connections) => {
          expect(await checkRedis(connections)).toEqual([expect.stringMatching(/replica/)]);
        }),
    ));

  it('says of an old server that it is too old', async () => {
    const info = async () => '# Server\r\nredis_version:6.2.14\r\nmaxmemory_policy:noeviction\r\n';
    const connections = { commands: { info } } as unknown as RedisConnections;
    expect(await checkRedis(connections)).toEqual([expect.stringMatching(/6\.2\.14.*7 or newer/)]);
  });

  it('says of a server that does not answer that the journal goes on', async () => {
    const connections = connectRedis('redis://127.0.0.1:1');
    expect(await checkRedis(connections)).toEqual([expect.stringMatching(/journal/)]);
    connections.close();
  });
});
