import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';
import { charge, fresh, PATIENCE, send } from './calls.ts';

const SECRET = `whsec_${Buffer.from('a secret of this test alone').toString('base64')}`;

interface Delivery {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: { readonly type: string; readonly data: Record<string, unknown> };
}

let simulator: TestSimulator;
let receiver: Server;
let url: string;
let received: Delivery[];
let statuses: number[];

beforeAll(async () => {
  simulator = await startTestSimulator({ seed: 3 });
  receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      received.push({ headers: request.headers, body, event: JSON.parse(body) });
      response.writeHead(statuses.shift() ?? 204).end();
    });
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hooks`;
});
afterAll(async () => {
  await simulator.stop();
  receiver.closeAllConnections();
  receiver.close();
});
beforeEach(() => {
  received = [];
  statuses = [];
});
afterEach(() => simulator.settings({ webhook: null }));

function isGenuine({ headers, body }: Delivery): boolean {
  try {
    return new Webhook(SECRET).verify(body, headers as Record<string, string>) !== undefined;
  } catch {
    return false;
  }
}

const arrived = (count: number) => expect.poll(() => received.length, PATIENCE).toBe(count);

describe('webhooks', () => {
  it('tell of each result in order, signed', async () => {
    await simulator.settings({ webhook: { url, secret: SECRET } });
    const paid = await charge(simulator.url, fresh());
    await charge(simulator.url, { ...fresh(), source: 'pm_declined' });
    await charge(simulator.url, { ...fresh(), source: 'pm_requires_action' });
    const refund = { charge: paid.json?.['id'], amountMinor: 1_050 };
    for (let time = 0; time < 2; time += 1) {
      const { reference, key } = fresh();
      await send(`${simulator.url}/v1/refunds`, key, { reference, ...refund });
    }
    await arrived(4);
    expect(received.map(({ event }) => event.type)).toEqual([
      'charge.succeeded',
      'charge.declined',
      'refund.succeeded',
      'refund.failed',
    ]);
    expect(received.every(isGenuine)).toBe(true);
    expect(received[0]?.event.data).toEqual(paid.json);
  });

  it('tell of a pending charge when it settles', async () => {
    await simulator.settings({ webhook: { url, secret: SECRET } });
    await charge(simulator.url, { ...fresh(), source: 'pm_pending_80' });
    await arrived(1);
    expect(received[0]?.event).toMatchObject({
      type: 'charge.succeeded',
      data: { status: 'succeeded' },
    });
  });

  it('come in copies of the same id, and again after a refusal', async () => {
    statuses = [500];
    await simulator.settings({ webhook: { url, secret: SECRET, copies: 2 } });
    await charge(simulator.url, fresh());
    await arrived(3);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  it('forged ones say the opposite and do not verify', async () => {
    await simulator.settings({ webhook: { url, secret: SECRET, forge: true } });
    await charge(simulator.url, fresh());
    await arrived(2);
    expect(received.map(isGenuine)).toEqual([false, true]);
    expect(received.map(({ event }) => event.type)).toEqual([
      'charge.declined',
      'charge.succeeded',
    ]);
  });

  it('arrive in another order when shuffled, none lost', async () => {
    const webhook = { url, secret: SECRET, order: 'shuffle', delayMs: 300 } as const;
    await simulator.settings({ seed: 11, webhook });
    const sent: string[] = [];
    for (let number = 0; number < 8; number += 1) {
      const request = fresh();
      sent.push(request.reference);
      await charge(simulator.url, request);
    }
    await arrived(8);
    const seen = received.map(({ event }) => String(event.data['reference']));
    expect(seen).not.toEqual(sent);
    expect([...seen].sort()).toEqual([...sent].sort());
  });

  it.each([
    { url: 'ftp://example.invalid', secret: SECRET },
    { url: 'http://127.0.0.1:1', secret: 'not base64!' },
  ])('are not set up with %o', async (webhook) => {
    await expect(simulator.settings({ webhook })).rejects.toThrow('400');
  });
});
