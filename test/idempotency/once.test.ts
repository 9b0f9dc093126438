import { beforeEach, describe, expect, it, vi } from 'vitest';
import {
  type Call,
  type Intent,
  type Lease,
  MemoryStore,
  NotExecuted,
  Once,
  type OnceOptions,
  type Result,
  type Store,
  type Verdict,
} from '../../src/idempotency/index.ts';
import { idle, ManualClock } from './manual-clock.ts';

const LEASE_MS = 22_000;
const JOIN_WAIT_MS = 5_000;
const TTL_MS = 86_400_000;

const intent: Intent = { scope: 'merchant-1', key: 'order-1' };
const fingerprint = 'pay 10.50';

/** A store whose verbs can be made to fail. */
class FaultyStore implements Store {
  readonly failing = new Set<keyof Store>();
  readonly #inner: Store;

  constructor(inner: Store) {
    this.#inner = inner;
  }

  async claim(ask: Lease, leaseMs: number): Promise<Verdict> {
    return this.#try('claim').claim(ask, leaseMs);
  }
  async settle(lease: Lease, answer: string, ttlMs: number): Promise<boolean> {
    return this.#try('settle').settle(lease, answer, ttlMs);
  }
  async release(lease: Lease): Promise<boolean> {
    return this.#try('release').release(lease);
  }
  async wait(waited: Intent, timeoutMs: number): Promise<void> {
    return this.#try('wait').wait(waited, timeoutMs);
  }

  #try(verb: keyof Store): Store {
    if (this.failing.has(verb)) throw new Error(`${verb} fails`);
    return this.#inner;
  }
}

let clock: ManualClock;
let store: FaultyStore;
let storeErrors: unknown[];

beforeEach(() => {
  clock = new ManualClock();
  store = new FaultyStore(new MemoryStore(clock));
  storeErrors = [];
});

/** One process; several of them share the store. */
function process(options: Partial<OnceOptions> = {}): Once {
  return new Once({
    store,
    clock,
    leaseMs: LEASE_MS,
    answerTtlMs: TTL_MS,
    joinWaitMs: JOIN_WAIT_MS,
    journaled: true,
    onStoreError: (error) => storeErrors.push(error),
    ...options,
  });
}

const done = (answer: unknown, first = true): Result<unknown> => ({ kind: 'done', answer, first });

type Work = Call<unknown>['work'];

function call(work: Work, over: Partial<Call<unknown>> = {}): Call<unknown> {
  return { intent, fingerprint, onInFlight: 'JOIN', work, ...over };
}

/** Work that is under way until the test ends it. */
function slowWork() {
  let end: (result: Result<unknown>) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const work = vi.fn<Work>(
    () =>
      new Promise((resolve, reject) => {
        end = resolve;
        fail = reject;
      }),
  );
  return {
    work,
    end: (result: Result<unknown>) => end(result),
    fail: (error: Error) => fail(error),
  };
}

const never: Work = () => {
  throw new Error('This work should not have been started.');
};

const executed = (answer: unknown) => ({ kind: 'answered', how: 'EXECUTED', answer });
const replayed = (answer: unknown) => ({ kind: 'answered', how: 'REPLAYED', answer });
const joined = (answer: unknown) => ({ kind: 'answered', how: 'JOINED', answer });

describe('a call', () => {
  it('executes its work and gets the answer', async () => {
    expect(await process().run(call(async () => done({ id: 7 })))).toEqual(executed({ id: 7 }));
  });

  it('made again gets the first answer, and the work does not run again', async () => {
    await process().run(call(async () => done({ id: 7 })));
    expect(await process().run(call(never))).toEqual(replayed({ id: 7 }));
  });

  it('made again gets the first answer from the journal, if that had it', async () => {
    const ending = await process().run(call(async () => done({ id: 7 }, false)));
    expect(ending).toEqual(replayed({ id: 7 }));
  });

  it('gets an answer that has been through JSON, the first time as later', async () => {
    const answer = { at: new Date(0), none: undefined, list: [undefined], nothing: null };
    const asJson = { at: '1970-01-01T00:00:00.000Z', list: [null], nothing: null };
    expect(await process().run(call(async () => done(answer)))).toEqual(executed(asJson));
    expect(await process().run(call(never))).toEqual(replayed(asJson));
  });

  it.each([undefined, null, 0, '', false, '?', '=1'])('may be answered with %j', async (answer) => {
    await process().run(call(async () => done(answer)));
    expect(await process().run(call(never))).toEqual(replayed(answer ?? null));
  });

  it('with another payload is refused, with the first fingerprint and without work', async () => {
    await process().run(call(async () => done(1)));
    const ending = await process().run(call(never, { fingerprint: 'pay 99.00' }));
    expect(ending).toEqual({ kind: 'mismatch', fingerprint });
  });

  it('by another merchant with the same key is another call', async () => {
    await process().run(call(async () => done(1)));
    const theirs = { scope: 'merchant-2', key: intent.key };
    const ending = await process().run(call(async () => done(2), { intent: theirs }));
    expect(ending).toEqual(executed(2));
  });

  it('runs again when the answer’s time is over: then the journal decides', async () => {
    await process().run(call(async () => done(1), { answerTtlMs: 1_000 }));
    await clock.advance(1_001);
    expect(await process().run(call(async () => done(1, false)))).toEqual(replayed(1));
  });
});

describe('a duplicate of a running call', () => {
  it('in the same process joins, and asks the store nothing', async () => {
    const once = process();
    const { work, end } = slowWork();
    const first = once.run(call(work));
    await idle();
    const claim = vi.spyOn(store, 'claim');
    const second = once.run(call(never));
    end(done(1));
    expect(await first).toEqual(executed(1));
    expect(await second).toEqual(joined(1));
    expect(claim).not.toHaveBeenCalled();
  });

  it('in another process joins, woken by the answer', async () => {
    const { work, end } = slowWork();
    const first = process().run(call(work));
    await idle();
    const second = process().run(call(never));
    await clock.advance(50);
    end(done(1));
    expect(await second).toEqual(joined(1));
    expect(await first).toEqual(executed(1));
    expect(clock.now()).toBe(50);
  });

  it('waits as long as it may, and is then told when to come again', async () => {
    const { work, end } = slowWork();
    const first = process().run(call(work));
    await idle();
    const second = process().run(call(never));
    await clock.advance(JOIN_WAIT_MS);
    expect(await second).toEqual({ kind: 'busy', retryAfterMs: LEASE_MS - JOIN_WAIT_MS });
    end(done(1));
    await first;
  });

  it('in the same process waits no longer either', async () => {
    const once = process();
    const { work, end } = slowWork();
    const first = once.run(call(work));
    const second = once.run(call(never));
    await clock.advance(JOIN_WAIT_MS);
    expect(await second).toEqual({ kind: 'busy', retryAfterMs: 1_000 });
    end(done(1));
    await first;
  });

  it.each([
    ['the same process', () => (once: Once) => once],
    ['another process', () => () => process()],
  ])('is refused at once in %s if the field says REFUSE', async (_, other) => {
    const once = process();
    const { work, end } = slowWork();
    const first = once.run(call(work));
    await idle();
    const ending = await other()(once).run(call(never, { onInFlight: 'REFUSE' }));
    expect(ending.kind).toBe('busy');
    end(done(1));
    await first;
  });

  it.each([
    ['the same process', () => (once: Once) => once],
    ['another process', () => () => process()],
  ])('with another payload is a mismatch at once in %s', async (_, other) => {
    const once = process();
    const { work, end } = slowWork();
    const first = once.run(call(work));
    await idle();
    const ending = await other()(once).run(call(never, { fingerprint: 'pay 99.00' }));
    expect(ending).toEqual({ kind: 'mismatch', fingerprint });
    end(done(1));
    await first;
  });

  it('is refused when enough wait for the same key', async () => {
    const once = process({ maxWaitersPerKey: 2 });
    const { work, end } = slowWork();
    const first = once.run(call(work));
    await idle();
    const waiting = [once.run(call(never)), once.run(call(never))];
    expect(await once.run(call(never))).toEqual({ kind: 'busy', retryAfterMs: 1_000 });
    end(done(1));
    await first;
    expect(await Promise.all(waiting)).toEqual([joined(1), joined(1)]);
  });

  it('is refused when enough wait in the process; who has left makes room', async () => {
    const once = process({ maxWaiters: 1 });
    const [one, two] = [slowWork(), slowWork()];
    const other = { intent: { scope: 'merchant-1', key: 'order-2' } };
    const firsts = [once.run(call(one.work)), once.run(call(two.work, other))];
    await idle();
    const waiting = once.run(call(never));
    expect((await once.run(call(never, other))).kind).toBe('busy');
    one.end(done(1));
    await waiting;
    const inItsPlace = once.run(call(never, other));
    two.end(done(2));
    expect(await inItsPlace).toEqual(joined(2));
    await Promise.all(firsts);
  });

  it('gets what the first call threw', async () => {
    const once = process();
    const { work, fail } = slowWork();
    const first = once.run(call(work));
    await idle();
    const second = once.run(call(never));
    fail(new Error('the database is gone'));
    await expect(first).rejects.toThrow('the database is gone');
    await expect(second).rejects.toThrow('the database is gone');
  });
});

describe('the journal’s word', () => {
  it('"open" is told as in doubt, and asked again by the next call', async () => {
    const open = process().run(call(async () => ({ kind: 'open', answer: { status: 'UNKNOWN' } })));
    const inDoubt = { kind: 'answered', how: 'IN_DOUBT', answer: { status: 'UNKNOWN' } };
    expect(await open).toEqual(inDoubt);
    expect(await process().run(call(async () => done(1, false)))).toEqual(replayed(1));
  });

  it('"released" frees the key: the same call executes', async () => {
    const work: Work = async () => ({ kind: 'released', answer: { retry: true } });
    expect(await process().run(call(work))).toEqual(executed({ retry: true }));
    expect(await process().run(call(async () => done(1)))).toEqual(executed(1));
  });

  it('"mismatch" refuses the call and does not hold the key', async () => {
    const mismatch = { kind: 'mismatch', fingerprint: 'pay 99.00' } as const;
    expect(await process().run(call(async () => mismatch))).toEqual(mismatch);
    expect(await process().run(call(async () => done(1)))).toEqual(executed(1));
  });

  it('"busy" makes the call wait and ask again', async () => {
    const work = vi
      .fn<Work>()
      .mockResolvedValueOnce({ kind: 'busy', retryAfterMs: 3_000 })
      .mockResolvedValueOnce({ kind: 'busy', retryAfterMs: 2_900 })
      .mockResolvedValue(done(1, false));
    const ending = process().run(call(work));
    await clock.advance(JOIN_WAIT_MS);
    expect(await ending).toEqual(joined(1));
    expect(work).toHaveBeenCalledTimes(3);
  });

  it('"busy" to the end of the wait is passed on', async () => {
    const work = vi.fn<Work>(async () => ({ kind: 'busy', retryAfterMs: 3_000 }));
    const ending = process().run(call(work));
    await clock.advance(JOIN_WAIT_MS);
    expect(await ending).toEqual({ kind: 'busy', retryAfterMs: 3_000 });
    // Asked ever more slowly: 100, 200, 400, 800, 1000 ms …
    expect(work.mock.calls.length).toBeLessThan(12);
  });
});

describe('work that throws', () => {
  const crash: Work = async () => {
    throw new Error('nobody knows');
  };

  it('frees nothing while the lease lasts; then the journal decides', async () => {
    await expect(process().run(call(crash))).rejects.toThrow('nobody knows');
    expect((await process().run(call(never, { onInFlight: 'REFUSE' }))).kind).toBe('busy');
    await clock.advance(LEASE_MS);
    expect(await process().run(call(async () => done(1, false)))).toEqual(replayed(1));
  });

  it('without a journal pins "unknown" to the key for as long as an answer', async () => {
    const once = process({ journaled: false });
    await expect(once.run(call(crash))).rejects.toThrow('nobody knows');
    expect(await once.run(call(never))).toEqual({ kind: 'unknown' });
    await clock.advance(TTL_MS - 1);
    expect(await once.run(call(never))).toEqual({ kind: 'unknown' });
  });

  it.each([true, false])(
    'NotExecuted, a proof, frees the key (journaled: %j)',
    async (journaled) => {
      const once = process({ journaled });
      const refused: Work = async () => {
        throw new NotExecuted('connection refused');
      };
      await expect(once.run(call(refused))).rejects.toThrow('connection refused');
      expect(await once.run(call(async () => done(1)))).toEqual(executed(1));
    },
  );
});

describe('a store that fails', () => {
  it('at the claim: the journal goes on alone, for a first call and for a retry', async () => {
    store.failing.add('claim');
    expect(await process().run(call(async () => done(1)))).toEqual(executed(1));
    expect(await process().run(call(async () => done(1, false)))).toEqual(replayed(1));
    expect(storeErrors).toHaveLength(2);
  });

  it('at the claim, without a journal: certainly nothing happens', async () => {
    store.failing.add('claim');
    const ending = await process({ journaled: false }).run(call(never));
    expect(ending).toEqual({ kind: 'unavailable', retryAfterMs: 1_000 });
  });

  it('at settle: the caller gets the answer all the same', async () => {
    store.failing.add('settle');
    expect(await process().run(call(async () => done(1)))).toEqual(executed(1));
    expect(storeErrors).toEqual([new Error('settle fails')]);
  });

  it('at release: the caller gets its answer all the same, and the lease ends by itself', async () => {
    store.failing.add('release');
    const open: Work = async () => ({ kind: 'open', answer: 1 });
    expect((await process().run(call(open))).kind).toBe('answered');
    expect(storeErrors).toEqual([new Error('release fails')]);
    await clock.advance(LEASE_MS);
    expect(await process().run(call(async () => done(2)))).toEqual(executed(2));
  });

  it('at release after NotExecuted: what the work threw is what the caller gets', async () => {
    store.failing.add('release');
    const refused: Work = async () => {
      throw new NotExecuted('connection refused');
    };
    await expect(process().run(call(refused))).rejects.toThrow('connection refused');
  });

  it('at wait: the duplicate asks again by the clock', async () => {
    store.failing.add('wait');
    const { work, end } = slowWork();
    const first = process().run(call(work));
    await idle();
    const second = process().run(call(never));
    await clock.advance(50);
    end(done(1));
    await clock.advance(1_000);
    expect(await second).toEqual(joined(1));
    await first;
  });

  it('while the first is at work: the second asks the journal, which knows', async () => {
    const { work, end } = slowWork();
    const first = process().run(call(work));
    await idle();
    store.failing.add('claim');
    const busy: Work = async () => ({ kind: 'busy', retryAfterMs: 3_000 });
    expect((await process().run(call(busy, { onInFlight: 'REFUSE' }))).kind).toBe('busy');
    end(done(1));
    expect(await first).toEqual(executed(1));
  });
});

describe('an answer in the store that cannot be read', () => {
  beforeEach(async () => {
    const lease = { intent, fingerprint, token: 'somebody' };
    await store.claim(lease, LEASE_MS);
    await store.settle(lease, '={"id":', TTL_MS);
  });

  it('is asked from the journal', async () => {
    expect(await process().run(call(async () => done(1, false)))).toEqual(replayed(1));
  });

  it('without a journal runs nothing', async () => {
    const ending = await process({ journaled: false }).run(call(never));
    expect(ending.kind).toBe('unavailable');
  });
});

describe('an owner that was away for longer than its lease', () => {
  it('cannot put its answer over that of the next', async () => {
    const { work, end } = slowWork();
    const first = process().run(call(work));
    await clock.advance(LEASE_MS);
    await process().run(call(async () => done('second')));
    end(done('first'));
    await first;
    expect(await process().run(call(never))).toEqual(replayed('second'));
  });
});
