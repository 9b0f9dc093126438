import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { planOf, planOfScenario, planOfSource } from '../../src/simulator/behaviours.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';
import { type ChargeRequest, charge, fresh, operations, PATIENCE } from './calls.ts';

let simulator: TestSimulator;
beforeAll(async () => {
  simulator = await startTestSimulator();
});
afterAll(() => simulator.stop());

/** Sends a charge that gets no proper answer, and leaves once the simulator has it. */
async function abandoned(request: ChargeRequest): Promise<void> {
  const caller = new AbortController();
  const ended = expect(charge(simulator.url, request, caller.signal)).rejects.toThrow();
  const arrived = async () =>
    (await simulator.requests()).some(({ reference }) => reference === request.reference);
  await expect.poll(arrived, PATIENCE).toBe(true);
  await new Promise((resolve) => setTimeout(resolve, 50));
  caller.abort();
  await ended;
}

describe('what a payment method token makes happen', () => {
  it.each([
    ['pm_ok', { status: 'succeeded', capturedMinor: 1_050 }, 1],
    ['pm_declined', { status: 'declined', declineCode: 'do_not_honor', capturedMinor: 0 }, 0],
    ['pm_insufficient_funds', { declineCode: 'insufficient_funds', soft: true }, 0],
    ['pm_slow_30', { status: 'succeeded' }, 1],
    ['pm_requires_action', { status: 'requires_action', capturedMinor: 0 }, 0],
    ['pm_wrong_amount', { status: 'succeeded', amountMinor: 1_051 }, 1],
    ['pm_execute_then_unknown_status', { status: 'perplexed' }, 1],
    ['pm_lowercase_currency', { status: 'succeeded', currency: 'eur' }, 1],
    ['pm_extra_members', { status: 'succeeded', livemode: false }, 1],
  ])('%s answers %o', async (source, members, executions) => {
    const { reference, key } = fresh();
    const answer = await charge(simulator.url, { reference, key, source });
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({ reference, ...members });
    expect(await simulator.executions(reference)).toHaveLength(executions);
  });

  it.each([
    ['pm_execute_then_500', 500],
    ['pm_execute_then_502', 502],
    ['pm_execute_then_504', 504],
    ['pm_execute_then_redirect', 307],
    ['pm_created', 201],
  ])(
    '%s executes once and answers %i; the next try gets the first result',
    async (source, status) => {
      const { reference, key } = fresh();
      expect((await charge(simulator.url, { reference, key, source })).status).toBe(status);
      expect(await simulator.executions(reference)).toHaveLength(1);
      const again = await charge(simulator.url, { reference, key, source });
      expect(again.json).toMatchObject({ reference, status: 'succeeded' });
      expect(await simulator.executions(reference)).toHaveLength(1);
    },
  );

  it.each(['pm_execute_then_garbage', 'pm_execute_then_empty', 'pm_execute_then_no_id'])(
    '%s executes once and answers what cannot be read',
    async (source) => {
      const { reference, key } = fresh();
      const answer = await charge(simulator.url, { reference, key, source });
      expect(answer.status).toBe(200);
      expect(answer.json?.['id']).toBeUndefined();
      expect(await simulator.executions(reference)).toHaveLength(1);
    },
  );

  it.each([
    ['pm_execute_then_hang', 1],
    ['pm_execute_then_reset', 1],
    ['pm_execute_then_truncate', 1],
    ['pm_headers_then_stall', 1],
    ['pm_execute_then_drip', 1],
    ['pm_hang_before', 0],
    ['pm_reset_before', 0],
  ])('%s never ends its answer, and executes %i times', async (source, executions) => {
    const { reference, key } = fresh();
    await abandoned({ reference, key, source });
    await expect.poll(() => simulator.executions(reference), PATIENCE).toHaveLength(executions);
    expect(await operations(simulator.url, reference)).toHaveLength(executions);
  });

  it('pm_fail_before_500 executes nothing at first; the next try succeeds', async () => {
    const request = { ...fresh(), source: 'pm_fail_before_500' };
    expect((await charge(simulator.url, request)).status).toBe(500);
    expect(await simulator.executions(request.reference)).toHaveLength(0);
    expect((await charge(simulator.url, request)).json).toMatchObject({ status: 'succeeded' });
    expect(await simulator.executions(request.reference)).toHaveLength(1);
  });

  it.each([
    ['pm_rate_limited_2', 2],
    ['pm_rate_limited', 1],
  ])('%s answers 429 with Retry-After that often, then succeeds', async (source, times) => {
    const request = { ...fresh(), source };
    for (let attempt = 0; attempt < times; attempt += 1) {
      const { status, headers, json } = await charge(simulator.url, request);
      expect(status).toBe(429);
      expect(headers.get('retry-after')).toBe('1');
      expect(json).toMatchObject({ error: { code: 'rate_limited' } });
    }
    expect(await simulator.executions(request.reference)).toHaveLength(0);
    expect((await charge(simulator.url, request)).status).toBe(200);
    expect(await simulator.executions(request.reference)).toHaveLength(1);
  });

  it('pm_pending settles after its time; a repeat of the request still says pending', async () => {
    const request = { ...fresh(), source: 'pm_pending_100' };
    const { json } = await charge(simulator.url, request);
    expect(json).toMatchObject({ status: 'pending', capturedMinor: 0 });
    await expect
      .poll(() => operations(simulator.url, request.reference), PATIENCE)
      .toMatchObject([{ status: 'succeeded', capturedMinor: 1_050 }]);
    expect((await charge(simulator.url, request)).json).toMatchObject({ status: 'pending' });
    const [execution, ...others] = await simulator.executions(request.reference);
    const waitedMs = Date.parse(String(execution?.at)) - Date.parse(String(json?.['createdAt']));
    expect(waitedMs).toBeGreaterThanOrEqual(99);
    expect(others).toEqual([]);
  });

  it('pm_decline_then_execute declines, and executes later all the same', async () => {
    const request = { ...fresh(), source: 'pm_decline_then_execute_100' };
    const { json } = await charge(simulator.url, request);
    expect(json).toMatchObject({ status: 'declined', declineCode: 'do_not_honor' });
    await expect.poll(() => simulator.executions(request.reference), PATIENCE).toHaveLength(1);
    expect(await operations(simulator.url, request.reference)).toMatchObject([
      { id: json?.['id'], status: 'succeeded', capturedMinor: 1_050 },
    ]);
    expect((await charge(simulator.url, request)).json).toMatchObject({ status: 'declined' });
  });

  it('pm_execute_late answers nothing and keeps its key busy until its time', async () => {
    const request = { ...fresh(), source: 'pm_execute_late_60000' };
    await abandoned(request);
    expect(await operations(simulator.url, request.reference)).toEqual([]);
    const again = await charge(simulator.url, request);
    expect(again).toMatchObject({ status: 409, json: { error: { code: 'key_in_use' } } });
    expect(await simulator.executions(request.reference)).toEqual([]);
  });

  it('pm_execute_late executes after its time, whoever has left by then', async () => {
    const request = { ...fresh(), source: 'pm_execute_late_120' };
    await abandoned(request);
    await expect.poll(() => simulator.executions(request.reference), PATIENCE).toHaveLength(1);
    const again = await charge(simulator.url, request);
    expect(again.json).toMatchObject({ status: 'succeeded' });
    expect(await simulator.executions(request.reference)).toHaveLength(1);
  });

  it('an unknown payment method is an invalid request', async () => {
    const answer = await charge(simulator.url, { ...fresh(), source: 'pm_no_such_thing' });
    expect(answer).toMatchObject({ status: 400, json: { error: { code: 'invalid_request' } } });
  });
});

describe('scenarios', () => {
  it('take the next matching requests only, and then leave them alone', async () => {
    const { reference, key } = fresh();
    await simulator.scenario({ behaviour: 'status_503', match: { reference }, times: 2 });
    expect((await charge(simulator.url, fresh())).status).toBe(200);
    expect((await charge(simulator.url, { reference, key })).status).toBe(503);
    expect((await charge(simulator.url, { reference, key })).status).toBe(503);
    expect((await charge(simulator.url, { reference, key })).status).toBe(200);
  });

  it('disturb a repeat without executing again', async () => {
    const request = fresh();
    await charge(simulator.url, request);
    await simulator.scenario({
      behaviour: 'execute_then_garbage',
      match: { reference: request.reference },
    });
    expect((await charge(simulator.url, request)).json).toBeUndefined();
    expect(await simulator.executions(request.reference)).toHaveLength(1);
  });

  it('reach look-ups when they are named', async () => {
    const { reference } = fresh();
    await simulator.scenario({ behaviour: 'status_500', match: { kind: 'lookup', reference } });
    const address = `${simulator.url}/v1/operations?reference=${reference}`;
    expect((await fetch(address)).status).toBe(500);
    expect((await fetch(address)).status).toBe(200);
  });

  it('of an unknown behaviour are refused', async () => {
    await expect(simulator.scenario({ behaviour: 'dance' })).rejects.toThrow('400');
  });
});

describe('the words', () => {
  it('only known words and whole numbers are behaviours', () => {
    for (const word of [
      '',
      'slow_',
      'slow_x',
      'slow_1.5',
      'constructor',
      'toString_1',
      'status_42',
    ]) {
      expect(planOf(word), word).toBeUndefined();
    }
    expect(planOfSource('ok')).toBeUndefined();
    expect(planOfSource('pm_slow_5')).toMatchObject({ waitMs: 5 });
  });

  it('delayMs means what the behaviour can use', () => {
    expect(planOfScenario('slow', 40)).toMatchObject({ waitMs: 40 });
    expect(planOfScenario('pm_pending', 40)).toMatchObject({ settleMs: 40, waitMs: 0 });
    expect(planOfScenario('rate_limited', 2_000)).toMatchObject({ retryAfterMs: 2_000 });
    expect(planOfScenario('execute_then_drip', 10)).toMatchObject({ dripMs: 10, waitMs: 0 });
    expect(planOfScenario('execute_then_hang', 40)).toMatchObject({ waitMs: 40 });
  });
});
