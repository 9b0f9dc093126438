import { describe, expect, it } from 'vitest';
import { type Ask, MemoryStore, type Store } from '../../src/idempotency/index.ts';
import { NearStore } from '../../src/redis/index.ts';
import { describeStoreContract, type StoreBench } from '../contract/store-contract.ts';
import { ManualClock } from '../idempotency/manual-clock.ts';

const NEAR_MS = 2_000;

/** A far store that counts what is asked of it, and forgets everything on demand. */
function bench() {
  const clock = new ManualClock();
  let far = new MemoryStore(clock);
  let claims = 0;
  const counted: Store = {
    claim: (ask, leaseMs) => {
      claims += 1;
      return far.claim(ask, leaseMs);
    },
    settle: (lease, answer, ttlMs) => far.settle(lease, answer, ttlMs),
    release: (lease) => far.release(lease),
    wait: (intent, timeoutMs) => far.wait(intent, timeoutMs),
  };
  return {
    clock,
    far: counted,
    near: new NearStore(counted, NEAR_MS, () => clock.now()),
    claims: () => claims,
    forget: () => {
      far = new MemoryStore(clock);
    },
  };
}

let tokens = 0;
const ask = (key: string, fingerprint = 'pay 10.50'): Ask => {
  tokens += 1;
  return { intent: { scope: 'merchant-1', key }, fingerprint, token: `token-${tokens}` };
};

function contractBench(pick: 'near' | 'far'): StoreBench {
  const { clock, ...stores } = bench();
  return { store: stores[pick], advance: async (ms) => clock.advance(ms) };
}

describeStoreContract(
  'a store with the last answers near at hand',
  () => contractBench('near'),
  () => contractBench('far'),
);

describe('an answer of the last seconds', () => {
  it('is replayed without a step of the far store', async () => {
    const { near, claims } = bench();
    const lease = ask('near-1');
    await near.claim(lease, 9_000);
    await near.settle(lease, '=1', 60_000);
    const before = claims();
    expect(await near.claim(ask('near-1'), 9_000)).toEqual({ kind: 'replay', answer: '=1' });
    const other = await near.claim(ask('near-1', 'pay 10.51'), 9_000);
    expect(other).toEqual({ kind: 'mismatch', fingerprint: 'pay 10.50', held: false });
    expect(claims()).toBe(before);
  });

  it('that another process settled is near after its first replay', async () => {
    const { near, far, claims } = bench();
    const lease = ask('near-2');
    await far.claim(lease, 9_000);
    await far.settle(lease, '=2', 60_000);
    for (let turn = 0; turn < 3; turn += 1) {
      expect(await near.claim(ask('near-2'), 9_000)).toEqual({ kind: 'replay', answer: '=2' });
    }
    expect(claims()).toBe(2);
  });

  it('is asked for again when the seconds are over', async () => {
    const { near, clock, claims, forget } = bench();
    const lease = ask('near-3');
    await near.claim(lease, 9_000);
    await near.settle(lease, '=3', 60_000);
    forget();
    expect(await near.claim(ask('near-3'), 9_000)).toEqual({ kind: 'replay', answer: '=3' });
    await clock.advance(NEAR_MS + 1);
    const before = claims();
    expect(await near.claim(ask('near-3'), 9_000)).toEqual({ kind: 'run' });
    expect(claims()).toBe(before + 1);
  });

  it('ends with its own time if that is shorter', async () => {
    const { near, clock } = bench();
    const lease = ask('near-4');
    await near.claim(lease, 9_000);
    await near.settle(lease, '=4', 100);
    await clock.advance(101);
    expect(await near.claim(ask('near-4'), 9_000)).toEqual({ kind: 'run' });
  });
});

describe('what is not answered', () => {
  it('is never decided near: a lease that ended, a release, a settle that came too late', async () => {
    const { near, clock } = bench();
    const first = ask('near-5');
    await near.claim(first, 100);
    await clock.advance(101);
    const second = ask('near-5');
    expect(await near.claim(second, 9_000)).toEqual({ kind: 'run' });
    expect(await near.settle(first, '=late', 60_000)).toBe(false);
    expect((await near.claim(ask('near-5'), 9_000)).kind).toBe('busy');
    expect(await near.release(second)).toBe(true);
    expect(await near.claim(ask('near-5', 'other'), 9_000)).toEqual({ kind: 'run' });
  });
});
