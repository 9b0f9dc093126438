import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * - `pass`: what is said is passed on, both ways.
 * - `stall`: connections stay and take everything in, nothing is passed on until `pass` again.
 * - `dropNextReply`: the next reply of the server is lost and its connection cut; then `pass`.
 * - `swallowNextReply`: the same, but the connection stays and is silent from then on.
 * - `silence`: every connection there is stays, and is silent from then on; new ones pass.
 * - `refuse`: nobody listens, and the connections there were are gone.
 * - `reset`: every connection is reset, at once and as soon as it comes.
 */
export type ProxyMode =
  | 'pass'
  | 'stall'
  | 'dropNextReply'
  | 'swallowNextReply'
  | 'silence'
  | 'refuse'
  | 'reset';

/** A relay on a loopback port that can misbehave as networks do. */
export interface FaultProxy {
  readonly port: number;
  readonly mode: ProxyMode;
  /** Returns when the mode is in force. */
  set(mode: ProxyMode): Promise<void>;
  /** How many connections were accepted so far. */
  readonly accepted: number;
  close(): Promise<void>;
}

interface Pair {
  readonly near: Socket;
  readonly far: Socket;
  silent: boolean;
}

/** A port on the loopback, or the path of a socket. */
type Place = number | string;

/** Told what clients say, before it is passed on or not; each connection is an object of its own. */
export type Listener = (said: Buffer, connection: object) => void;

/** @param target what is relayed to; a function is asked for every connection */
export async function startProxy(
  target: Place | (() => Place),
  onSaid: Listener = () => {},
): Promise<FaultProxy> {
  const pairs = new Set<Pair>();
  let mode: ProxyMode = 'pass';
  let accepted = 0;

  const cut = ({ near, far }: Pair, how: 'destroy' | 'resetAndDestroy' = 'destroy'): void => {
    near[how]();
    far.destroy();
  };
  const toServer = (pair: Pair, chunk: Buffer): void => {
    if (!pair.silent) pair.far.write(chunk);
  };
  const toClient = (pair: Pair, chunk: Buffer): void => {
    if (pair.silent) return;
    if (mode === 'dropNextReply' || mode === 'swallowNextReply') {
      if (mode === 'dropNextReply') cut(pair);
      pair.silent = true;
      mode = 'pass';
      return;
    }
    pair.near.write(chunk);
  };
  const accept = (near: Socket): void => {
    accepted += 1;
    if (mode === 'reset') return void near.resetAndDestroy();
    const place = typeof target === 'function' ? target() : target;
    const far = typeof place === 'number' ? connect(place, '127.0.0.1') : connect(place);
    const pair: Pair = { near, far, silent: false };
    pairs.add(pair);
    near.on('data', (chunk) => {
      onSaid(chunk, near);
      toServer(pair, chunk);
    });
    far.on('data', (chunk) => toClient(pair, chunk));
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      if (mode === 'stall') socket.pause();
      socket.on('error', () => {});
      socket.on('close', () => {
        pairs.delete(pair);
        cut(pair);
      });
    }
  };

  const server = createServer(accept);
  await listen(server, 0);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');
  const { port } = address;

  const set = async (next: ProxyMode): Promise<void> => {
    mode = next === 'silence' ? 'pass' : next;
    if (next === 'silence') for (const pair of pairs) pair.silent = true;
    for (const { near, far } of pairs) {
      for (const socket of [near, far]) next === 'stall' ? socket.pause() : socket.resume();
    }
    if (next === 'reset') for (const pair of pairs) cut(pair, 'resetAndDestroy');
    if (next === 'refuse') {
      for (const pair of pairs) cut(pair);
      await unlisten(server);
    } else if (!server.listening) {
      await listen(server, port);
    }
  };

  return {
    port,
    get mode() {
      return mode;
    },
    get accepted() {
      return accepted;
    },
    set,
    close: () => set('refuse'),
  };
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
}

async function unlisten(server: Server): Promise<void> {
  if (!server.listening) return;
  server.close();
  await once(server, 'close');
}
