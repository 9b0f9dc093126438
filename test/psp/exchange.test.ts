import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Socket } from 'node:net';
import { Pool } from 'undici';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Breaker } from '../../src/psp/breaker.ts';
import { exchange, type HttpCall, type Reply } from '../../src/psp/exchange.ts';

const DEADLINE_MS = 300;
/** The promise is an answer within the deadline plus this, in ms. */
const MARGIN_MS = 500;
const call: HttpCall = {
  method: 'POST',
  path: '/v1/charges',
  headers: { 'content-type': 'application/json' },
  body: '{}',
  deadlineMs: 10_000,
};
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}';

const cleanups: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

interface Peer {
  readonly pool: Pool;
  /** Requests whose first byte has arrived. */
  requests(): number;
  connections(): number;
}

/** A server of bare bytes: `answer` gets the socket at each request and its number from 1. */
async function peer(
  answer: (socket: Socket, request: number) => void,
  options: Pool.Options = {},
): Promise<Peer> {
  let requests = 0;
  let connections = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', () => {
      requests += 1;
      answer(socket, requests);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 1, pipelining: 1, ...options });
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  cleanups.push(() => pool.destroy());
  return { pool, requests: () => requests, connections: () => connections };
}

async function timed(work: Promise<Reply>): Promise<{ reply: Reply; tookMs: number }> {
  const start = performance.now();
  const reply = await work;
  return { reply, tookMs: performance.now() - start };
}

describe('one deadline covers everything', () => {
  it.each([
    ['no byte at all', () => {}],
    ['headers that never end', (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\nx-a: ')],
    [
      'a body that stalls',
      (socket: Socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'),
    ],
    [
      'a body that drips',
      (socket: Socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 999\r\n\r\n');
        const timer = setInterval(() => socket.write(' '), 20);
        socket.on('close', () => clearInterval(timer));
      },
    ],
  ])('%s', async (_name, answer) => {
    const { pool } = await peer(answer);
    const { reply, tookMs } = await timed(exchange(pool, { ...call, deadlineMs: DEADLINE_MS }));
    expect(reply).toMatchObject({ kind: 'lost', sent: true, reason: 'no answer in time' });
    expect(tookMs).toBeLessThan(DEADLINE_MS + MARGIN_MS);
    await expect.poll(() => pool.stats.connected).toBe(0);
  });

  it('waiting for a connection: what is given up was not sent and never will be', async () => {
    const { pool, requests, connections } = await peer((socket, request) => {
      if (request > 1) socket.write(OK);
      else setTimeout(() => socket.write(OK), 200);
    });
    const first = exchange(pool, call);
    const notSent = { kind: 'lost', sent: false, unreachable: false, reason: 'not sent in time' };
    const pastHalf = exchange(pool, { ...call, deadlineMs: 380 });
    expect(await exchange(pool, { ...call, deadlineMs: 50 })).toEqual(notSent);
    expect(await pastHalf).toEqual(notSent);
    expect(await first).toMatchObject({ kind: 'answered', status: 200 });
    expect(await exchange(pool, call)).toMatchObject({ kind: 'answered' });
    expect(requests()).toBe(2);
    expect(connections()).toBe(1);
  });
});

describe('a lost connection', () => {
  it('that is refused proves that nothing was sent', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    for (const host of ['127.0.0.1', 'localhost']) {
      const pool = new Pool(`http://${host}:${port}`);
      cleanups.push(() => pool.destroy());
      expect(await exchange(pool, call)).toEqual({
        kind: 'lost',
        sent: false,
        unreachable: true,
        reason: 'connection refused',
      });
    }
  });

  it('because the host name does not exist proves it, too', async () => {
    const pool = new Pool('http://psp.invalid');
    cleanups.push(() => pool.destroy());
    const reply = await exchange(pool, call);
    expect(reply).toMatchObject({ kind: 'lost', sent: false, unreachable: true });
  });

  it.each([
    ['reset', (socket: Socket) => socket.resetAndDestroy()],
    ['closed', (socket: Socket) => socket.end()],
    [
      'cut in the body',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{'),
    ],
    [
      'reset in the body',
      (socket: Socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{', () =>
          socket.resetAndDestroy(),
        );
      },
    ],
    ['broken by nonsense', (socket: Socket) => socket.write('garbage\r\n\r\n')],
  ])('%s on a kept connection is unknown, and the request is not repeated', async (_name, lose) => {
    const { pool, requests } = await peer((socket, request) => {
      if (request === 1) socket.write(OK);
      else lose(socket);
    });
    expect(await exchange(pool, call)).toMatchObject({ kind: 'answered' });
    expect(await exchange(pool, call)).toEqual({
      kind: 'lost',
      sent: true,
      unreachable: false,
      reason: 'connection lost',
    });
    expect(requests()).toBe(2);
  });
});

describe('an answer', () => {
  it('of more than 64 KiB is given up', async () => {
    const body = `"${'x'.repeat(70_000)}"`;
    const { pool } = await peer((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
    });
    const reply = await exchange(pool, call);
    expect(reply).toMatchObject({ kind: 'lost', sent: true, reason: 'answer too large' });
  });

  it('that redirects is not followed', async () => {
    const { pool, requests } = await peer((socket) => {
      socket.write('HTTP/1.1 307 Moved\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n');
    });
    expect(await exchange(pool, call)).toMatchObject({ kind: 'answered', status: 307 });
    expect(requests()).toBe(1);
  });

  it('after an informational one is the one that counts', async () => {
    const { pool } = await peer((socket) => {
      socket.write(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${OK}`);
    });
    expect(await exchange(pool, call)).toMatchObject({ kind: 'answered', status: 200, body: {} });
  });

  it('does not come to a request that cannot be written', async () => {
    const { pool, requests } = await peer(() => {});
    const broken = { ...call, headers: { 'idempotency-key': 'a\r\nb' } };
    expect(await exchange(pool, broken)).toMatchObject({ sent: false, unreachable: false });
    expect(requests()).toBe(0);
  });
});

describe('the breaker', () => {
  const gone: Reply = { kind: 'lost', sent: false, unreachable: true, reason: 'gone' };
  const slow: Reply = { kind: 'lost', sent: true, unreachable: false, reason: 'slow' };
  const ends = (reply: Reply) => (onSent: () => void) => {
    if (reply.kind === 'answered' || reply.sent) onSent();
    return Promise.resolve(reply);
  };

  it('opens on connections that fail in a row, and on nothing else', async () => {
    const breaker = new Breaker({ failures: 3, openMs: 10_000 });
    for (const reply of [gone, gone, slow, slow, slow, slow, gone, gone, gone]) {
      expect(await breaker.run(ends(reply))).toEqual(reply);
    }
    let ran = false;
    const held = await breaker.run(() => {
      ran = true;
      return Promise.resolve(slow);
    });
    expect(held).toEqual({ kind: 'open', retryAfterMs: expect.any(Number) });
    expect(held.kind === 'open' && held.retryAfterMs).toBeGreaterThan(9_000);
    expect(ran).toBe(false);
  });

  it('lets one probe through at a time and closes once that is on its way', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    cleanups.push(() => {
      vi.useRealTimers();
    });
    const breaker = new Breaker({ failures: 1, openMs: 50 });
    await breaker.run(ends(gone));
    expect((await breaker.run(ends(gone))).kind).toBe('open');
    vi.advanceTimersByTime(60);
    expect(await breaker.run(ends(gone))).toEqual(gone);
    expect((await breaker.run(ends(slow))).kind).toBe('open');
    vi.advanceTimersByTime(60);
    let depart: () => void = () => {};
    let answer: (reply: Reply) => void = () => {};
    const probe = breaker.run((onSent) => {
      depart = onSent;
      return new Promise((resolve) => {
        answer = resolve;
      });
    });
    expect((await breaker.run(ends(slow))).kind).toBe('open');
    depart();
    await expect.poll(async () => (await breaker.run(ends(slow))).kind).toBe('lost');
    answer(slow);
    expect(await probe).toEqual(slow);
  });
});
