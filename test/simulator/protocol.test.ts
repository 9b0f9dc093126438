import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  startTestSimulator,
  type TestSimulator,
  withSimulator,
} from '../support/with-simulator.ts';
import { charge, fresh, operations, send } from './calls.ts';

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator();
});
afterAll(() => simulator.stop());

describe('idempotency keys', () => {
  it('the same key and body answer the first result, whatever the order of members', async () => {
    const { reference, key } = fresh();
    const address = `${simulator.url}/v1/charges`;
    const body = { reference, amountMinor: 5, currency: 'EUR', source: 'pm_ok' };
    const first = await send(address, key, body);
    const reversed = Object.fromEntries(Object.entries(body).reverse());
    expect((await send(address, key, reversed)).text).toBe(first.text);
    expect(await simulator.executions(reference)).toHaveLength(1);
  });

  it('a decline is a result and is repeated', async () => {
    const request = { ...fresh(), source: 'pm_declined' };
    const first = await charge(simulator.url, request);
    expect((await charge(simulator.url, request)).text).toBe(first.text);
  });

  it('the same key with another body is refused', async () => {
    const request = fresh();
    await charge(simulator.url, request);
    const other = await charge(simulator.url, { ...request, amountMinor: 1 });
    expect(other).toMatchObject({ status: 422, json: { error: { code: 'key_reused' } } });
    expect(await simulator.executions(request.reference)).toHaveLength(1);
  });

  it('of many racers one executes; the others are refused or get its result', async () => {
    const request = { ...fresh(), source: 'pm_slow_100' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => charge(simulator.url, request)),
    );
    const accepted = answers.filter(({ status }) => status === 200);
    expect(new Set(accepted.map(({ text }) => text)).size).toBe(1);
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.every(({ status }) => status === 409)).toBe(true);
    expect(await simulator.executions(request.reference)).toHaveLength(1);
  });

  it('past the key window the same key executes again', async () => {
    await withSimulator(
      async (other) => {
        const request = fresh();
        const first = await charge(other.url, request);
        await new Promise((resolve) => setTimeout(resolve, 60));
        const second = await charge(other.url, request);
        expect(second.json?.['id']).not.toBe(first.json?.['id']);
        expect(await other.executions(request.reference)).toHaveLength(2);
        const found = await operations(other.url, request.reference);
        expect(found.map(({ id }) => id)).toEqual([first.json?.['id'], second.json?.['id']]);
      },
      { keyWindowMs: 50 },
    );
  });
});

describe('captures, voids and refunds', () => {
  async function follow(path: string, body: object) {
    const { reference, key } = fresh();
    return send(`${simulator.url}/v1/${path}`, key, { reference, ...body });
  }

  it('an authorisation is captured in parts and refunded, never beyond its amount', async () => {
    const { json } = await charge(simulator.url, { ...fresh(), capture: false });
    const id = String(json?.['id']);
    expect(json).toMatchObject({ kind: 'authorize', status: 'succeeded', capturedMinor: 0 });
    const refund = (amountMinor: number) => follow('refunds', { charge: id, amountMinor });
    const capture = (amountMinor: number) => follow(`charges/${id}/capture`, { amountMinor });
    expect((await refund(1)).json).toMatchObject({ declineCode: 'amount_exceeds_captured' });
    expect((await capture(1_000)).json).toMatchObject({ kind: 'capture', status: 'succeeded' });
    expect((await capture(51)).json).toMatchObject({ declineCode: 'amount_exceeds_authorized' });
    expect((await capture(50)).json).toMatchObject({ status: 'succeeded', currency: 'EUR' });
    expect((await refund(1_050)).json).toMatchObject({ kind: 'refund', status: 'succeeded' });
    expect((await refund(1)).json).toMatchObject({ status: 'declined' });
  });

  it('two refunds at once cannot give back more than was paid', async () => {
    const { json } = await charge(simulator.url, fresh());
    const answers = await Promise.all(
      [600, 600].map((amountMinor) => follow('refunds', { charge: json?.['id'], amountMinor })),
    );
    const statuses = answers.map((answer) => answer.json?.['status']).sort();
    expect(statuses).toEqual(['declined', 'succeeded']);
  });

  it('a voided authorisation cannot be captured, a captured one not be voided', async () => {
    const authorised = await charge(simulator.url, { ...fresh(), capture: false });
    const id = String(authorised.json?.['id']);
    expect((await follow(`charges/${id}/void`, {})).json).toMatchObject({ kind: 'void' });
    const late = await follow(`charges/${id}/capture`, { amountMinor: 1 });
    expect(late.json).toMatchObject({ status: 'declined', declineCode: 'charge_voided' });
    const paid = await charge(simulator.url, fresh());
    const refused = await follow(`charges/${String(paid.json?.['id'])}/void`, {});
    expect(refused.json).toMatchObject({ declineCode: 'charge_captured' });
  });

  it('a charge that does not exist is not found', async () => {
    const answer = await follow('charges/ch_none/void', {});
    expect(answer).toMatchObject({ status: 404, json: { error: { code: 'not_found' } } });
  });
});

describe('refusals', () => {
  const whole = { reference: 'r', amountMinor: 1, currency: 'EUR', source: 'pm_ok' };
  it.each([
    ['not JSON', '{"reference":'],
    ['a list', []],
    ['no reference', { ...whole, reference: undefined }],
    ['zero', { ...whole, amountMinor: 0 }],
    ['a negative amount', { ...whole, amountMinor: -1 }],
    ['a fraction', { ...whole, amountMinor: 1.5 }],
    ['a text as amount', { ...whole, amountMinor: '1' }],
    ['more than a safe integer', { ...whole, amountMinor: 2 ** 53 }],
    ['a long currency', { ...whole, currency: 'EURO' }],
    ['more than 64 KiB', { ...whole, metadata: { text: 'x'.repeat(70_000) } }],
  ])('%s is an invalid request', async (_name, body) => {
    const answer = await send(`${simulator.url}/v1/charges`, fresh().key, body);
    expect(answer).toMatchObject({ status: 400, json: { error: { code: 'invalid_request' } } });
  });

  it('a missing idempotency key is an invalid request', async () => {
    const { status } = await send(`${simulator.url}/v1/charges`, null, whole);
    expect(status).toBe(400);
  });
});

describe('look-ups and control', () => {
  it('an operation is hidden for the lag of look-ups', async () => {
    await withSimulator(async (other) => {
      await other.settings({ lookupLagMs: 60_000 });
      const request = fresh();
      await charge(other.url, request);
      expect(await operations(other.url, request.reference)).toEqual([]);
      expect(await other.executions(request.reference)).toHaveLength(1);
      await other.settings({ lookupLagMs: 0 });
      expect(await operations(other.url, request.reference)).toHaveLength(1);
      await other.reset();
      expect(await other.executions()).toEqual([]);
      expect(await other.requests()).toEqual([]);
      expect(await operations(other.url, request.reference)).toEqual([]);
    });
  });

  it('every request is listed, executed or not', async () => {
    const { reference, key } = fresh();
    await charge(simulator.url, { reference, key, source: 'pm_status_503' });
    await operations(simulator.url, reference);
    const listed = (await simulator.requests()).filter((one) => one.reference === reference);
    expect(listed).toMatchObject([
      { method: 'POST', path: '/v1/charges', idempotencyKey: key },
      { method: 'GET', path: '/v1/operations', idempotencyKey: null },
    ]);
  });

  it('the same seed gives the same ids', async () => {
    const ids: unknown[] = [];
    for (const _run of [1, 2]) {
      await withSimulator(
        async ({ url }) => {
          ids.push((await charge(url, fresh())).json?.['id']);
        },
        { seed: 7 },
      );
    }
    expect(ids[0]).toBe(ids[1]);
  });

  it('a caller that leaves in the middle of its body harms nobody', async () => {
    const request = httpRequest(`${simulator.url}/v1/charges`, {
      method: 'POST',
      headers: { 'content-length': 100, 'idempotency-key': fresh().key },
    });
    request.on('error', () => {});
    request.write('{"reference":');
    setTimeout(() => request.destroy(), 30);
    await new Promise((resolve) => request.on('close', resolve));
    expect((await charge(simulator.url, fresh())).status).toBe(200);
  });
});
