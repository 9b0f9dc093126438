import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import postgres from 'postgres';

const CONNECT_TIMEOUT_S = 2;
const CLOSE_WITHIN_S = 2;
/** The pause after a connection that ended before the server said a word, in ms. */
const PAUSE_MS = 100;

/**
 * Every statement here finds its rows by an index. A plan made while the tables are nearly empty would
 * read them whole, and a prepared statement keeps its plan when they are large. Nothing is compiled: what
 * is forbidden counts as so dear that even a table of one row would be, each time.
 */
const BY_INDEX = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  jit: 'off',
};

/** What postgres.js hands to an option that its types leave out. */
interface Place {
  readonly host: readonly string[];
  readonly port: readonly number[];
  readonly path: string | false | undefined;
}

/**
 * The connections of postgres.js over sockets of our own, so that a pool can be given up for good:
 * left to itself, a pool that has ended still sends what waits in its sockets' buffers and opens the
 * connections that it was about to open, for ever; and against a relay that accepts and hangs up it
 * connects without a pause.
 */
export class Pool {
  readonly sql: postgres.Sql;
  readonly #sockets = new Set<Socket>();
  #opened = 0;
  #givenUp = false;

  constructor(url: string, max: number) {
    const ours: object = { max_pipeline: 1, socket: (place: Place) => this.#connect(place) };
    this.sql = postgres(url, {
      max,
      ...ours,
      prepare: true,
      fetch_types: false,
      connect_timeout: CONNECT_TIMEOUT_S,
      idle_timeout: 0,
      max_lifetime: null,
      backoff: (attempt) => Math.min(0.05 * 2 ** attempt, 1),
      onnotice: () => {},
      connection: { application_name: 'semel', DateStyle: 'ISO', TimeZone: 'UTC', ...BY_INDEX },
    });
  }

  /** Lets statements that are under way finish. */
  async close(): Promise<void> {
    await this.sql.end({ timeout: CLOSE_WITHIN_S });
    this.giveUp();
  }

  /** At once: what has not left this machine never will. Statements under way fail. */
  giveUp(): void {
    this.#givenUp = true;
    for (const socket of this.#sockets) cut(socket);
    this.sql.end({ timeout: 0 }).catch(() => {});
  }

  /** The socket need not be connected yet: what is written to it waits, and so do its errors. */
  async #connect({ host, port, path }: Place): Promise<Socket> {
    if (this.#forgetDead()) await sleep(PAUSE_MS);
    const at = this.#opened++ % host.length;
    const socket = path
      ? connect(path)
      : connect({ host: host[at] ?? 'localhost', port: port[at] ?? 5432 });
    // postgres.js takes the name from here that it checks the server's certificate against.
    Object.assign(socket, { host: host[at], port: port[at] });
    this.#sockets.add(socket);
    if (this.#givenUp) setImmediate(() => cut(socket));
    return socket;
  }

  /** @returns true if one of them had not heard a word */
  #forgetDead(): boolean {
    let silent = false;
    for (const socket of this.#sockets) {
      if (!socket.destroyed) continue;
      silent ||= socket.bytesRead === 0;
      this.#sockets.delete(socket);
    }
    return silent;
  }
}

/** A reset throws away what the system still holds for sending; only TCP that is connected has one. */
function cut(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}
