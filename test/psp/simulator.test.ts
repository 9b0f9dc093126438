import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { Charge } from '../../src/payments/index.ts';
import { createPsp, type OpenPsp, PSP_NAMES } from '../../src/psp/index.ts';
import { pspContract } from '../contract/psp-contract.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';

const TIMEOUT_MS = 900;

pspContract('the simulator adapter', async () => {
  const simulator = await startTestSimulator();
  const psp = await createPsp('simulator', { url: simulator.url, timeoutMs: TIMEOUT_MS });
  return {
    psp,
    timeoutMs: TIMEOUT_MS,
    mostYen: 99_999_999_999_999,
    methods: {
      ok: 'pm_ok',
      declined: 'pm_declined',
      softDeclined: 'pm_insufficient_funds',
      pending: 'pm_pending_60000',
      requiresAction: 'pm_requires_action',
      nonsense: 'pm_no_such_thing',
      notExecutedAtFirst: 'pm_rate_limited_1',
      executedUnknown: [
        'pm_execute_then_hang',
        'pm_execute_then_reset',
        'pm_execute_then_500',
        'pm_execute_then_502',
        'pm_execute_then_503',
        'pm_execute_then_504',
        'pm_execute_then_401',
        'pm_execute_then_404',
        'pm_execute_then_409',
        'pm_execute_then_truncate',
        'pm_execute_then_garbage',
        'pm_execute_then_empty',
        'pm_execute_then_unknown_status',
        'pm_execute_then_no_id',
        'pm_execute_then_redirect',
        'pm_execute_then_drip',
        'pm_headers_then_stall',
      ],
      notExecutedUnknown: [
        'pm_hang_before',
        'pm_reset_before',
        'pm_redirect',
        'pm_status_403',
        'pm_fail_before_500',
      ],
    },
    executions: async (reference) => (await simulator.executions(reference)).length,
    close: async () => {
      await psp.close();
      await simulator.stop();
    },
  };
});

describe('the simulator adapter and its simulator', () => {
  let simulator: TestSimulator | undefined;
  let psp: OpenPsp | undefined;
  afterEach(async () => {
    await psp?.close();
    await simulator?.stop();
  });

  const ask = (paymentMethod = 'pm_ok'): Charge => ({
    reference: randomUUID(),
    pspKey: randomUUID(),
    paymentMethod,
    amountMinor: 700,
    currency: 'EUR',
  });

  it('extra members, 201 and a currency in lower case are a success like any other', async () => {
    simulator = await startTestSimulator();
    psp = await createPsp('simulator', { url: simulator.url, timeoutMs: 5_000 });
    for (const method of ['pm_extra_members', 'pm_created', 'pm_lowercase_currency']) {
      const outcome = await psp.charge(ask(method));
      expect(outcome).toMatchObject({ kind: 'succeeded', amountMinor: 700, currency: 'EUR' });
    }
    const wrong = await psp.charge(ask('pm_wrong_amount'));
    expect(wrong).toMatchObject({ kind: 'succeeded', amountMinor: 701 });
  });

  it('a look-up that is disturbed says unreachable, never none', async () => {
    simulator = await startTestSimulator();
    psp = await createPsp('simulator', { url: simulator.url, timeoutMs: 600 });
    const charge = ask();
    await psp.charge(charge);
    for (const behaviour of [
      'status_500',
      'status_404',
      'rate_limited',
      'hang_before',
      'reset_before',
      'redirect',
      'execute_then_garbage',
      'execute_then_truncate',
      'execute_then_unknown_status',
      'execute_then_no_id',
      'headers_then_stall',
    ]) {
      await simulator.scenario({ behaviour, match: { kind: 'lookup' } });
      expect((await psp.find(charge.reference)).kind, behaviour).toBe('unreachable');
    }
    expect((await psp.find(charge.reference)).kind).toBe('found');
  });

  it('charges that hang leave look-ups free, and those beyond the pool are not sent', async () => {
    simulator = await startTestSimulator();
    psp = await createPsp('simulator', { url: simulator.url, timeoutMs: 900, connections: 4 });
    const hanging = Array.from({ length: 12 }, () => ask('pm_hang_before'));
    const outcomes = Promise.all(hanging.map((charge) => psp?.charge(charge)));
    expect(await psp.find(randomUUID())).toEqual({ kind: 'none' });
    const kinds = (await outcomes).map((outcome) => outcome?.kind).sort();
    expect(kinds).toEqual([...Array(8).fill('notSent'), ...Array(4).fill('unknown')]);
    expect(await psp.charge(ask())).toMatchObject({ kind: 'succeeded' });
    const posted = (await simulator.requests()).filter(({ method }) => method === 'POST');
    expect(posted).toHaveLength(5);
  });

  it('one merchant whose charges hang or fail does not open the breaker for others', async () => {
    simulator = await startTestSimulator();
    psp = await createPsp('simulator', {
      url: simulator.url,
      timeoutMs: 600,
      breaker: { failures: 2, openMs: 60_000 },
    });
    for (const method of ['pm_hang_before', 'pm_reset_before', 'pm_status_503', 'pm_redirect']) {
      await Promise.all([1, 2, 3, 4].map(() => psp?.charge(ask(method))));
      expect(await psp.charge(ask())).toMatchObject({ kind: 'succeeded' });
    }
  });

  it('a PSP that is gone is "not sent", then the breaker answers, then the PSP is back', async () => {
    simulator = await startTestSimulator();
    const port = Number(new URL(simulator.url).port);
    psp = await createPsp('simulator', {
      url: simulator.url,
      timeoutMs: 5_000,
      breaker: { failures: 3, openMs: 400 },
    });
    const warm = ask();
    await psp.charge(warm);
    await simulator.kill();
    const { dataDir } = simulator;
    const charge = ask();
    const reasons = new Set<string>();
    for (let attempt = 0; attempt < 8; attempt += 1) {
      const outcome = await psp.charge(charge);
      if (outcome.kind === 'notSent') {
        reasons.add(outcome.reason);
        expect(outcome.retryAfterMs).toBeGreaterThan(0);
      } else {
        expect(outcome).toEqual({ kind: 'unknown', reason: 'connection lost' });
      }
    }
    expect([...reasons]).toEqual(['connection refused', 'PSP not reachable']);
    expect(await psp.find(warm.reference)).toMatchObject({ kind: 'unreachable' });

    simulator = await startTestSimulator({ dataDir, port });
    const back = psp;
    await expect
      .poll(async () => (await back.charge(charge)).kind, { timeout: 15_000 })
      .toBe('succeeded');
    expect(await psp.charge(warm)).toMatchObject({ kind: 'succeeded' });
    expect(await simulator.executions(charge.reference)).toHaveLength(1);
    await simulator.stop();
    await rm(dataDir, { recursive: true });
  });
});

describe('misuse', () => {
  it('fails at construction, with the name of the setting', async () => {
    const url = 'http://127.0.0.1:1';
    const build = (settings: object) =>
      createPsp('simulator', { url, timeoutMs: 1_000, ...settings });
    await expect(build({ url: 'simulator' })).rejects.toThrow('url');
    await expect(build({ timeoutMs: 0 })).rejects.toThrow('timeoutMs');
    await expect(build({ connections: 0 })).rejects.toThrow('connections');
    await expect(build({ connectTimeoutMs: 2_000 })).rejects.toThrow('connectTimeoutMs');
    expect(PSP_NAMES).toContain('simulator');
  });
});
