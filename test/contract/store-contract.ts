import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Ask, Intent, Lease, Store, Verdict } from '../../src/idempotency/index.ts';

/** A store on the bench, and the power over its time. */
export interface StoreBench {
  readonly store: Store;
  /** Lets `ms` pass for everything the store keeps. */
  advance(ms: number): Promise<void>;
}

/** A promise of every store; throws if the store breaks it. Each starts on its own intents. */
export type StoreCheck = (bench: StoreBench) => Promise<void>;

const LEASE_MS = 9_000;
const TTL_MS = 99_000;

let intentsMade = 0;

function freshIntent(): Intent {
  intentsMade += 1;
  return { scope: 'merchant-1', key: `contract-${intentsMade}` };
}

let tokensMade = 0;

function ask(intent: Intent, fingerprint = 'pay 10.50'): Ask {
  tokensMade += 1;
  return { intent, fingerprint, token: `token-${tokensMade}` };
}

async function isFree({ store }: StoreBench, intent: Intent): Promise<boolean> {
  return (await store.claim(ask(intent), LEASE_MS)).kind === 'run';
}

/** One payment's state under a store: claimed by `lease`. */
async function claimed(bench: StoreBench, intent = freshIntent()): Promise<Lease> {
  const lease = ask(intent);
  expect(await bench.store.claim(lease, LEASE_MS)).toEqual({ kind: 'run' });
  return lease;
}

async function answered(bench: StoreBench, answer: string): Promise<Lease> {
  const lease = await claimed(bench);
  expect(await bench.store.settle(lease, answer, TTL_MS)).toBe(true);
  return lease;
}

export const storeChecks = {
  'a claim of a free intent runs': async (bench) => {
    await claimed(bench);
  },

  'a claim of a held intent is busy, and told for how long': async (bench) => {
    const { intent } = await claimed(bench);
    const verdict = await bench.store.claim(ask(intent), LEASE_MS);
    expect(verdict.kind).toBe('busy');
    const { retryAfterMs } = verdict as Extract<Verdict, { kind: 'busy' }>;
    expect(retryAfterMs).toBeGreaterThan(LEASE_MS - 3_000);
    expect(retryAfterMs).toBeLessThanOrEqual(LEASE_MS);
  },

  'a claim that is sent again by its own owner runs': async (bench) => {
    const lease = await claimed(bench);
    expect(await bench.store.claim(lease, LEASE_MS)).toEqual({ kind: 'run' });
  },

  'a claim that is sent again starts the lease anew': async (bench) => {
    const lease = await claimed(bench);
    await bench.advance(LEASE_MS - 3_000);
    await bench.store.claim(lease, LEASE_MS);
    await bench.advance(LEASE_MS - 3_000);
    expect(await isFree(bench, lease.intent)).toBe(false);
  },

  'a settled intent is replayed, to its owner and to others': async (bench) => {
    const lease = await answered(bench, '={"id":7}');
    const replay = { kind: 'replay', answer: '={"id":7}' };
    expect(await bench.store.claim(ask(lease.intent), LEASE_MS)).toEqual(replay);
    expect(await bench.store.claim(lease, LEASE_MS)).toEqual(replay);
  },

  'an answer outlives the lease and ends with its own time': async (bench) => {
    const { intent } = await answered(bench, '=1');
    await bench.advance(TTL_MS - 3_000);
    expect((await bench.store.claim(ask(intent), LEASE_MS)).kind).toBe('replay');
    await bench.advance(6_000);
    expect(await isFree(bench, intent)).toBe(true);
  },

  'any text comes back as it was kept': async (bench) => {
    const texts = [
      '',
      '?',
      'null',
      '{}',
      'IN_PROGRESS',
      '=" \u0000\n\\"',
      '=é€😀',
      '=x'.repeat(5_000),
    ];
    for (const text of texts) {
      const { intent } = await answered(bench, text);
      const replay = { kind: 'replay', answer: text };
      expect(await bench.store.claim(ask(intent), LEASE_MS)).toEqual(replay);
    }
  },

  'another payload is a mismatch while the first runs, before busy': async (bench) => {
    const { intent, fingerprint } = await claimed(bench);
    const verdict = await bench.store.claim(ask(intent, 'pay 99.00'), LEASE_MS);
    expect(verdict).toEqual({ kind: 'mismatch', fingerprint, held: true });
  },

  'another payload is a mismatch after the answer, before replay': async (bench) => {
    const { intent, fingerprint } = await answered(bench, '=1');
    const verdict = await bench.store.claim(ask(intent, 'pay 99.00'), LEASE_MS);
    expect(verdict).toEqual({ kind: 'mismatch', fingerprint, held: false });
  },

  'a mismatch changes nothing': async (bench) => {
    const lease = await claimed(bench);
    await bench.store.claim(ask(lease.intent, 'pay 99.00'), LEASE_MS);
    expect(await bench.store.settle(lease, '=1', TTL_MS)).toBe(true);
  },

  'a lease ends by itself, and another may run': async (bench) => {
    const { intent } = await claimed(bench);
    await bench.advance(LEASE_MS + 3_000);
    expect(await isFree(bench, intent)).toBe(true);
  },

  'a released intent is free for any payload': async (bench) => {
    const lease = await claimed(bench);
    expect(await bench.store.release(lease)).toBe(true);
    const verdict = await bench.store.claim(ask(lease.intent, 'pay 99.00'), LEASE_MS);
    expect(verdict).toEqual({ kind: 'run' });
  },

  'an owner whose lease has ended cannot settle over the next owner': async (bench) => {
    const first = await claimed(bench);
    await bench.advance(LEASE_MS + 3_000);
    const second = await claimed(bench, first.intent);
    expect(await bench.store.settle(first, '="late"', TTL_MS)).toBe(false);
    expect((await bench.store.claim(ask(first.intent), LEASE_MS)).kind).toBe('busy');
    expect(await bench.store.settle(second, '="right"', TTL_MS)).toBe(true);
  },

  'an owner whose lease has ended cannot release the next owner': async (bench) => {
    const first = await claimed(bench);
    await bench.advance(LEASE_MS + 3_000);
    await claimed(bench, first.intent);
    expect(await bench.store.release(first)).toBe(false);
    expect(await isFree(bench, first.intent)).toBe(false);
  },

  'an owner whose lease has ended cannot settle a free intent': async (bench) => {
    const lease = await claimed(bench);
    await bench.advance(LEASE_MS + 3_000);
    expect(await bench.store.settle(lease, '=1', TTL_MS)).toBe(false);
    expect(await isFree(bench, lease.intent)).toBe(true);
  },

  'an answer is neither replaced nor released by its own owner': async (bench) => {
    const lease = await answered(bench, '="first"');
    expect(await bench.store.settle(lease, '="second"', TTL_MS)).toBe(false);
    expect(await bench.store.release(lease)).toBe(false);
    const replay = { kind: 'replay', answer: '="first"' };
    expect(await bench.store.claim(ask(lease.intent), LEASE_MS)).toEqual(replay);
  },

  'of twenty claims at once exactly one runs': async (bench) => {
    const intent = freshIntent();
    const claims = Array.from({ length: 20 }, () => bench.store.claim(ask(intent), LEASE_MS));
    const kinds = (await Promise.all(claims)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'run')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'busy')).toHaveLength(19);
  },

  'intents whose parts read alike when joined are different': async (bench) => {
    const { key } = freshIntent();
    const pairs = [
      ['a', `b${key}`],
      ['ab', key],
      ['a:', `b${key}`],
      ['1:a', `b${key}`],
      ['', `ab${key}`],
      ['a\u0000', `b${key}`],
      ['a', `\u0000b${key}`],
      ['\ud800', key],
      ['\ud801', key],
    ] as const;
    for (const [scope, name] of pairs) await claimed(bench, { scope, key: name });
  },

  'a key that means something to a store is a key like others': async (bench) => {
    const { key } = freshIntent();
    const shapes = ['*', '?', '[a-z]', 'a:b', `lock:${key}`, `${key}:lock`, `../${key}`, '%00'];
    const words = [`{${key}}`, `semel:{${key}}`, 'IN_PROGRESS', 'null', 'undefined', 'true', '0'];
    for (const name of [key, ...shapes, ...words, '__proto__', 'constructor']) {
      const lease = await claimed(bench, { scope: `scope-of-${key}`, key: name });
      expect(await bench.store.settle(lease, `=${JSON.stringify(name)}`, TTL_MS)).toBe(true);
      const replay = { kind: 'replay', answer: `=${JSON.stringify(name)}` };
      expect(await bench.store.claim(ask(lease.intent), LEASE_MS)).toEqual(replay);
    }
  },

  'who waits is woken by the answer': async (bench) => {
    const lease = await claimed(bench);
    const woken = wokenWithin(bench, lease.intent);
    await bench.store.settle(lease, '=1', TTL_MS);
    expect(await woken).toBe(true);
  },

  'who has waited for a while is woken by the answer': async (bench) => {
    const lease = await claimed(bench);
    const woken = wokenWithin(bench, lease.intent);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await bench.store.settle(lease, '=1', TTL_MS);
    expect(await woken).toBe(true);
  },

  'who waits is woken by the release': async (bench) => {
    const lease = await claimed(bench);
    const woken = wokenWithin(bench, lease.intent);
    await bench.store.release(lease);
    expect(await woken).toBe(true);
  },

  'all who wait are woken': async (bench) => {
    const lease = await claimed(bench);
    const woken = Array.from({ length: 50 }, () => wokenWithin(bench, lease.intent));
    await bench.store.settle(lease, '=1', TTL_MS);
    expect((await Promise.all(woken)).every(Boolean)).toBe(true);
  },
} satisfies Record<string, StoreCheck>;

/** True if a wait of ten seconds ends within two. */
async function wokenWithin({ store }: StoreBench, intent: Intent): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, 2_000, false);
  });
  const woken = store.wait(intent, 10_000).then(() => true);
  try {
    return await Promise.race([woken, late]);
  } finally {
    clearTimeout(timer);
  }
}

type Move =
  | { readonly kind: 'claim' | 'settle' | 'release'; readonly ask: Ask; readonly answer: string }
  | { readonly kind: 'advance'; readonly ms: number };

/**
 * Times are multiples of 6 s and no lease or answer lasts one, so that the moments it takes to run a
 * sequence never decide it.
 */
function moves(): fc.Arbitrary<Move[]> {
  const intent = fc.constantFrom('a', 'b', 'c').map((key) => ({ scope: '', key }));
  const fingerprint = fc.constantFrom('pay 10.50', 'pay 99.00');
  const token = fc.constantFrom('red', 'green', 'blue');
  const answer = fc.constantFrom('=1', '=2', '?', '');
  const kind = fc.constantFrom('claim' as const, 'settle' as const, 'release' as const);
  const act = fc.record({ kind, ask: fc.record({ intent, fingerprint, token }), answer });
  const time = fc.record({
    kind: fc.constant('advance' as const),
    ms: fc.constantFrom(6_000, 12_000, 60_000, 102_000),
  });
  return fc.array(fc.oneof({ weight: 6, arbitrary: act }, { weight: 1, arbitrary: time }), {
    minLength: 1,
    maxLength: 40,
  });
}

let sequencesRun = 0;

/** Any sequence of moves has the same results on the bench and on the model. */
export async function agreesWithModel(bench: StoreBench, model: StoreBench): Promise<void> {
  await fc.assert(
    fc.asyncProperty(moves(), async (sequence) => {
      sequencesRun += 1;
      const scope = `model-${sequencesRun}`;
      for (const move of sequence) {
        expect(await play(bench, move, scope)).toEqual(await play(model, move, scope));
      }
    }),
    { numRuns: 150 },
  );
}

/** What is left of a lease depends on the moment, so only its kind is compared. */
async function play({ store, advance }: StoreBench, move: Move, scope: string): Promise<unknown> {
  switch (move.kind) {
    case 'advance':
      return advance(move.ms);
    case 'claim': {
      const verdict = await store.claim(within(scope, move.ask), LEASE_MS);
      return verdict.kind === 'busy' ? verdict.kind : verdict;
    }
    case 'settle':
      return store.settle(within(scope, move.ask), move.answer, TTL_MS);
    case 'release':
      return store.release(within(scope, move.ask));
  }
}

function within(scope: string, ask: Ask): Ask {
  return { ...ask, intent: { ...ask.intent, scope } };
}

/** The suite that every store passes. `open` borrows a bench; the model is compared over random sequences. */
export function describeStoreContract(
  name: string,
  open: () => StoreBench,
  model: () => StoreBench,
): void {
  describe(`${name} keeps the promises of a store:`, () => {
    for (const [promise, check] of Object.entries(storeChecks)) {
      it(promise, () => check(open()));
    }
    it('any sequence of moves ends as on the model', () => agreesWithModel(open(), model()));
  });
}
