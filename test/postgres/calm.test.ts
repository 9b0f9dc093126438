import { createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { Keys, migrate } from '../../src/postgres/administration.ts';
import { MIGRATIONS } from './books.ts';

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};
const WELCOME = Buffer.concat([
  message('R', Buffer.alloc(4)), // AuthenticationOk
  message('Z', Buffer.from('I')), // ReadyForQuery
]);
const NOT_YET = message(
  'E',
  Buffer.from('SFATAL\0VFATAL\0C57P03\0Mthe database system is not yet accepting connections\0\0'),
);

let server: Server | undefined;
const open = new Set<Socket>();
afterEach(async () => {
  for (const socket of open) socket.destroy();
  await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
});

/** Takes its first client in, goes away with its first question, and is coming up again from then on. */
async function goesAway(): Promise<string> {
  let clients = 0;
  server = createServer((socket) => {
    open.add(socket);
    clients += 1;
    const first = clients === 1;
    let asked = 0;
    socket.on('error', () => {});
    socket.on('data', () => {
      asked += 1;
      if (!first) socket.end(NOT_YET);
      else if (asked === 1) socket.write(WELCOME);
      else socket.destroy();
    });
  });
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return `postgres://semel@127.0.0.1:${(server.address() as { port: number }).port}/semel`;
}

// A rejection that nobody waits for would fail this file, as it would end a server.
test.each([
  [
    'the keys',
    async (url: string) => {
      const keys = new Keys(url);
      await keys.list().finally(() => keys.close());
    },
  ],
  ['the migrations', (url: string) => migrate(url, MIGRATIONS)],
])(
  'a database that goes away under %s is an error of who asked, and of nobody else',
  async (_, ask) => {
    await expect(ask(await goesAway())).rejects.toThrow();
    await sleep(200);
  },
);
