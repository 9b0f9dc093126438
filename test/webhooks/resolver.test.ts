import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { afterEach, expect, test } from 'vitest';
import { mayConnect } from '../../src/webhooks/destination.ts';
import { publicNames, Sender } from '../../src/webhooks/index.ts';
import { type Receiver, startReceiver, status } from '../support/receiver.ts';

const A = 1;
const NXDOMAIN = 3;
const NEVER = new AbortController().signal;
const open: { close(): unknown }[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

/** A name server (RFC 1035 §4) that has one IPv4 address for whatever is asked, each time the next. */
async function startDns(addresses: readonly (string | undefined)[]): Promise<string> {
  const left = [...addresses];
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const question = query.subarray(12);
    const end = question.indexOf(0) + 5;
    const isV4 = question.readUInt16BE(end - 4) === A;
    const found = isV4 ? left.shift() : undefined;
    const header = Buffer.from(query.subarray(0, 12));
    header.writeUInt16BE(0x8180 | (found === undefined && isV4 ? NXDOMAIN : 0), 2);
    header.writeUInt16BE(found === undefined ? 0 : 1, 6);
    header.writeUInt32BE(0, 8);
    const answer = Buffer.from('c00c00010001000000000004', 'hex');
    const record = found === undefined ? [] : [answer, Buffer.from(found.split('.').map(Number))];
    socket.send(Buffer.concat([header, question.subarray(0, end), ...record]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  open.push(socket);
  return `127.0.0.1:${socket.address().port}`;
}

async function receiver(): Promise<Receiver> {
  const one = await startReceiver('0.0.0.0');
  open.push(one);
  return one;
}

test('a name server that answers otherwise the second time does not lead inside', async () => {
  const shop = await receiver();
  shop.answer(status(200, { connection: 'close' }));
  // The first of them stands for a public one, so that nothing leaves the machine.
  const dns = await startDns(['127.0.0.2', '127.0.0.1', '169.254.169.254', '10.0.0.1', undefined]);
  const sender = new Sender({
    timeoutMs: 5_000,
    resolve: publicNames([dns]),
    mayConnect: (address) => address === '127.0.0.2' || mayConnect(address, 'off'),
  });
  open.push(sender);
  const url = new URL(shop.url);
  url.hostname = 'shop.test';
  const results: unknown[] = [];
  for (let i = 0; i < 5; i += 1) {
    const reply = await sender.send(url.href, {}, 'x', NEVER);
    results.push(reply.kind === 'answered' ? reply.httpStatus : reply.result);
  }
  expect(results).toEqual([200, ...Array(3).fill('DESTINATION_REFUSED'), 'NOT_RESOLVED']);
  expect(shop.received).toHaveLength(1);
});
