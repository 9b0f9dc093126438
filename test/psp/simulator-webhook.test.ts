import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { createPsp } from '../../src/psp/index.ts';
import { NEXT_SECRET, SECRET, signed, simulatorMail } from '../support/webhooks.ts';

const psp = await createPsp('simulator', {
  url: 'http://127.0.0.1:1',
  timeoutMs: 1_000,
  webhookSecrets: [SECRET, NEXT_SECRET],
});
const reference = '0192f0c1-0000-7000-8000-000000000001';
const read = (mail: { body: string; headers: Readonly<Record<string, string>> }) =>
  psp.readWebhook?.(mail.body, mail.headers);
const forged = { kind: 'forged' };

test('a body that is signed with any of the secrets tells of an entry', () => {
  for (const secret of [SECRET, NEXT_SECRET]) {
    expect(read(simulatorMail({ reference }, { id: 'msg_1', secret }))).toEqual({
      kind: 'event',
      eventId: 'msg_1',
      type: 'charge.succeeded',
      reference,
      outcome: {
        kind: 'succeeded',
        pspReference: 'ch_from_a_webhook',
        amountMinor: 1_050,
        currency: 'EUR',
      },
    });
  }
});

test('without a secret nothing is read', async () => {
  const bare = await createPsp('simulator', { url: 'http://127.0.0.1:1', timeoutMs: 1_000 });
  expect(bare.readWebhook).toBeUndefined();
});

test('the published vector of Standard Webhooks verifies with its own secret', () => {
  // standard-webhooks/standard-webhooks, libraries/javascript/src/webhook.test.ts: "sign function works".
  const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
  const signature = new Webhook(secret).sign(
    'msg_p5jXN8AQM9LWM0D4loKWxJek',
    new Date(1_614_265_330_000),
    '{"test": 2432232314}',
  );
  expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

describe('is believed by nobody', () => {
  const good = simulatorMail({ reference });
  const without = (name: string) =>
    Object.fromEntries(Object.entries(good.headers).filter(([key]) => key !== name));
  const withHeader = (name: string, text: string) => ({
    ...good,
    headers: { ...good.headers, [name]: text },
  });
  const signature = good.headers['webhook-signature'] ?? '';

  test.each([
    ['without its id', { ...good, headers: without('webhook-id') }],
    ['without its time', { ...good, headers: without('webhook-timestamp') }],
    ['without its signature', { ...good, headers: without('webhook-signature') }],
    ['with no time in its time', withHeader('webhook-timestamp', 'hello')],
    ['301 s old', simulatorMail({ reference }, { ageS: 301 })],
    // Signed when this file is read: by the time it is asked about, it is nearer.
    ['330 s from now', simulatorMail({ reference }, { ageS: -330 })],
    ['signed with another secret', simulatorMail({ reference }, { secret: 'b3RoZXI=' })],
    ['with half a signature', withHeader('webhook-signature', signature.slice(0, 20))],
    ['with the mere version', withHeader('webhook-signature', 'v1,')],
    ['of another version', withHeader('webhook-signature', signature.replace('v1,', 'v2,'))],
    ['under another id', withHeader('webhook-id', 'msg_other')],
    ['with a byte altered', { ...good, body: good.body.replace('1050', '1051') }],
    ['written anew', { ...good, body: JSON.stringify(JSON.parse(good.body), null, 1) }],
    ['with no body', { ...good, body: '' }],
  ])('%s', (_, mail) => {
    expect(read(good)).toMatchObject({ kind: 'event' });
    expect(read(mail)).toEqual(forged);
  });

  test('but one good signature among others is enough', () => {
    const among = `v2,AAAA v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= ${signature}`;
    expect(read(withHeader('webhook-signature', among))).toMatchObject({ kind: 'event' });
  });
});

test.each([
  ['no JSON', 'hello'],
  ['null', 'null'],
  ['without an object', '{"type":"x"}'],
  ['about nothing with a reference', '{"type":"x","data":{}}'],
])('signed, and %s: ignored', (_, body) => {
  expect(read(signed(body, { id: 'msg_2', secret: SECRET, ageS: 0 }))).toEqual({
    kind: 'ignored',
    eventId: 'msg_2',
    type: 'unreadable',
  });
});

test('signed, and of a state that nobody knows: the outcome is unknown', () => {
  expect(read(simulatorMail({ reference, status: 'perplexed' }))).toMatchObject({
    kind: 'event',
    outcome: { kind: 'unknown' },
  });
});
