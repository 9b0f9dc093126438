import {
  Cluster,
  type ClusterOptions,
  type CommonRedisOptions,
  type DNSLookupFunction,
  Redis,
  type RedisOptions,
} from 'ioredis';
import { reasonOf, StoreUnavailable } from './store-unavailable.ts';

export type RedisClient = Redis | Cluster;

export interface ConnectOptions {
  /** When the client gives a command up, in ms. A backstop behind the store's own budget. */
  readonly commandTimeoutMs?: number;
  readonly connectTimeoutMs?: number;
  /** A connection that owes a reply and stays silent for so long, in ms, is replaced. */
  readonly silenceMs?: number;
  /** The longest pause between two attempts to connect, in ms. */
  readonly mostBackoffMs?: number;
  /** Told of every connection error; it must not throw. */
  readonly onError?: (error: StoreUnavailable) => void;
}

/** Two connections: a connection that subscribes should do nothing else. */
export interface RedisConnections {
  readonly commands: RedisClient;
  readonly subscriber: RedisClient;
  /** True as soon as both are usable, false if that does not happen within `ms`. */
  ready(ms: number): Promise<boolean>;
  close(): void;
}

const ACCEPTED =
  'redis://[user:password@]host[:port][/db], rediss://…, unix:///path/to/socket, ' +
  'redis-sentinel://host:port,host:port/name-of-the-master[/db] or ' +
  'redis-cluster://host:port,host:port (rediss-… for TLS)';

/** Whether `connectRedis` takes it: several hosts make no URL that a browser would know. */
export function isRedisUrl(url: string): boolean {
  try {
    clientsFor(url, {});
    return true;
  } catch {
    return false;
  }
}

/**
 * Opens the connections in the background and keeps them up; a Redis that is down delays nobody.
 *
 * @throws TypeError if the URL is none of the accepted forms (its text, which may hold a password,
 * is not repeated)
 */
export function connectRedis(url: string, options: ConnectOptions = {}): RedisConnections {
  const open = clientsFor(url, options);
  const commands = open();
  const subscriber = open();
  for (const client of [commands, subscriber]) {
    client.on('error', (error: unknown) => {
      options.onError?.(new StoreUnavailable(reasonOf(error), false));
    });
    // The error listener has been told already, and the client goes on trying.
    client.connect().catch(() => {});
  }
  return {
    commands,
    subscriber,
    ready: async (ms) =>
      (await Promise.all([isReady(commands, ms), isReady(subscriber, ms)])).every(Boolean),
    close: () => {
      commands.disconnect();
      subscriber.disconnect();
    },
  };
}

function isReady(client: RedisClient, ms: number): Promise<boolean> {
  if (client.status === 'ready') return Promise.resolve(true);
  return new Promise((resolve) => {
    const end = (ready: boolean): void => {
      clearTimeout(timer);
      client.off('ready', yes);
      resolve(ready);
    };
    const yes = (): void => end(true);
    const timer = setTimeout(end, ms, false);
    client.once('ready', yes);
  });
}

function clientsFor(url: string, options: ConnectOptions): () => RedisClient {
  const common = commonOptions(options);
  const retryStrategy = backoff(options.mostBackoffMs ?? 1_000);
  const several =
    /^redis(s?)-(sentinel|cluster):\/\/(?:([^@/]*)@)?([^@/]+)(?:\/([^/]+))?(?:\/(\d+))?$/.exec(url);
  if (several !== null) {
    const [, secure, kind, login = '', hosts = '', name, db = '0'] = several;
    const nodes = hosts
      .split(',')
      .map((host) => nodeOf(host, kind === 'sentinel' ? 26_379 : 6_379));
    const shared = { ...common, ...loginOf(login), ...(secure === '' ? {} : { tls: {} }) };
    if (kind === 'cluster' && name === undefined) {
      return () => new Cluster(nodes, clusterOptions(shared, retryStrategy));
    }
    if (kind === 'sentinel' && name !== undefined) {
      const sentinel = sentinelOptions(name, nodes, retryStrategy);
      return () => new Redis({ ...shared, ...single(retryStrategy), ...sentinel, db: Number(db) });
    }
    throw notUnderstood();
  }
  const one = { ...common, ...single(retryStrategy), ...placeOf(url) };
  return () => new Redis(one);
}

/** What every connection to a Redis node is told; each value is a decision, none is a default. */
function commonOptions(options: ConnectOptions) {
  return {
    connectionName: 'semel',
    disableClientInfo: true,
    protocol: 3,
    replyMapping: 'legacy',
    connectTimeout: options.connectTimeoutMs ?? 1_000,
    commandTimeout: options.commandTimeoutMs ?? 1_000,
    socketTimeout: options.silenceMs ?? 2_000,
    keepAlive: 10_000,
    noDelay: true,
    lazyConnect: true,
    enableReadyCheck: true,
    maxLoadingRetryTime: 1_000,
    // The client itself resends nothing: after a lost connection only the store knows whether to.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    // The waiting room subscribes again by itself; the client's own attempt may reject unseen.
    autoResubscribe: false,
    // Saves Redis some work and costs the slowest calls twice their time: not worth it here.
    enableAutoPipelining: false,
    stringNumbers: false,
  } as const satisfies CommonRedisOptions;
}

function single(retryStrategy: (times: number) => number) {
  return { enableOfflineQueue: false, readOnly: false, monitor: false, retryStrategy } as const;
}

/** Quick at first, since a connection that was cut is mostly up again at once. */
function backoff(mostMs: number): (times: number) => number {
  return (times) => Math.min(mostMs, 5 * 2 ** Math.min(times, 20)) * (0.75 + Math.random() / 4);
}

type Shared = ReturnType<typeof commonOptions> &
  Pick<RedisOptions, 'username' | 'password' | 'tls'>;

const asNamed: DNSLookupFunction = (host, found) => found(null, host);

function clusterOptions(redisOptions: Shared, clusterRetryStrategy: (times: number) => number) {
  return {
    redisOptions,
    clusterRetryStrategy,
    clusterNodeRetryStrategy: null,
    enableOfflineQueue: false,
    enableReadyCheck: true,
    enableAutoPipelining: false,
    lazyConnect: true,
    scaleReads: 'master',
    shardedSubscribers: false,
    maxRedirections: 3,
    retryDelayOnFailover: 20,
    retryDelayOnClusterDown: 20,
    retryDelayOnTryAgain: 20,
    retryDelayOnMoved: 0,
    slotsRefreshTimeout: 1_000,
    slotsRefreshInterval: 5_000,
    // Certificates name hosts, so with TLS the names are kept as they are.
    ...('tls' in redisOptions ? { dnsLookup: asNamed } : {}),
  } as const satisfies ClusterOptions;
}

function sentinelOptions(
  name: string,
  sentinels: { host: string; port: number }[],
  sentinelRetryStrategy: (times: number) => number,
) {
  return {
    name,
    sentinels,
    role: 'master',
    sentinelRetryStrategy,
    sentinelCommandTimeout: 1_000,
    updateSentinels: true,
    failoverDetector: false,
    // A master that was demoted refuses writes: ask the sentinels again.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  } as const satisfies RedisOptions;
}

function placeOf(url: string) {
  if (/^unix:\/\/\/[^?#]+$/.test(url)) return { path: url.slice('unix://'.length) };
  if (!/^rediss?:\/\//.test(url) || !URL.canParse(url)) throw notUnderstood();
  const { protocol, hostname, port, username, password, pathname } = new URL(url);
  if (hostname === '' || !/^\/?\d*$/.test(pathname)) throw notUnderstood();
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 6_379),
    db: Number(pathname.slice(1)),
    ...loginOf(password === '' ? username && `${username}:` : `${username}:${password}`),
    ...(protocol === 'rediss:' ? { tls: { servername: hostname } } : {}),
  };
}

function loginOf(login: string): { username?: string; password?: string } {
  const [username = '', ...rest] = login.split(':');
  const password = decodeURIComponent(rest.join(':'));
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password }),
  };
}

function nodeOf(text: string, usualPort: number): { host: string; port: number } {
  const [, host, port = usualPort] =
    /^(\[[\da-fA-F:.]+\]|[^:[\]]+)(?::(\d{1,5}))?$/.exec(text) ?? [];
  if (host === undefined) throw notUnderstood();
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
}

function notUnderstood(): TypeError {
  return new TypeError(`The URL of Redis is not understood. Accepted: ${ACCEPTED}.`);
}
