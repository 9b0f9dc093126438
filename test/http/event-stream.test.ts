import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { Message } from '../../src/graphql/index.ts';
import { EventStream } from '../../src/http/event-stream.ts';
import { Streams } from '../../src/http/streams.ts';
import { eventually } from '../support/pay.ts';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

/** A server that streams what is given to each request, through a registry with quick beats. */
async function serve(messages: () => AsyncIterable<Message>) {
  const streams = new Streams({
    most: 10,
    mostOfMerchant: 10,
    isValid: async () => true,
    beatMs: 20,
  });
  const ended: unknown[] = [];
  const server = createServer((_request, response) => {
    const stream = streams.enter({ merchantId: 'm', key: 'k' }, response);
    if (!(stream instanceof EventStream)) throw new Error('full');
    void stream.send(messages(), () => {}).then((how) => ended.push(how));
  }).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return { streams, ended, port: (server.address() as AddressInfo).port };
}

const ASK = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';

test('a client that does not read costs no memory: nothing more is asked for, and it is cut off', async () => {
  let asked = 0;
  const text = 'x'.repeat(64 * 1_024);
  const { streams, ended, port } = await serve(async function* () {
    for (;;) {
      asked += 1;
      yield { id: String(asked), text };
    }
  });
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.pause();
  socket.write(ASK);
  await eventually(
    async () => ended.length,
    (count) => count === 1,
  );
  expect(streams.size).toBe(0);
  // What the system's own buffers take; it grows no further.
  expect(asked).toBeLessThan(500);
  socket.destroy();
});

test('a client that reads gets signs of life while there is nothing to say', async () => {
  let finish = () => {};
  const { port, streams } = await serve(async function* () {
    yield { id: 'first', text: undefined };
    await new Promise<void>((resolve) => {
      finish = resolve;
    });
  });
  const socket = connect(port, '127.0.0.1');
  let heard = '';
  socket.on('data', (chunk: Buffer) => {
    heard += chunk.toString();
  });
  socket.write(ASK);
  await eventually(
    async () => heard.split(':\n\n').length,
    (beats) => beats > 10,
  );
  expect(streams.size).toBe(1);
  expect(heard).toContain('retry: 1000\n\n');
  expect(heard).toContain('id: first\n\n');
  finish();
  await eventually(
    async () => heard,
    (text) => text.includes('event: complete\ndata:\n\n'),
  );
  expect(streams.size).toBe(0);
  socket.destroy();
});
