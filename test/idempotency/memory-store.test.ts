import { describe, expect, it } from 'vitest';
import type { Ask, Store, Verdict } from '../../src/idempotency/index.ts';
import { MemoryStore } from '../../src/idempotency/index.ts';
import { describeStoreContract, type StoreBench } from '../contract/store-contract.ts';
import { ManualClock } from './manual-clock.ts';

function memoryBench(): StoreBench {
  const clock = new ManualClock();
  return { store: new MemoryStore(clock), advance: async (ms) => clock.advance(ms) };
}

/** The promise in the fewest words, written without a look at the engine: a table of rows. */
class Oracle implements Store {
  rows: { id: string; token: string; print: string; answer: string | null; until: number }[] = [];
  time = 0;

  #row(ask: Ask) {
    const id = JSON.stringify([ask.intent.scope, ask.intent.key]);
    this.rows = this.rows.filter(({ until }) => until > this.time);
    return { id, row: this.rows.find((row) => row.id === id) };
  }

  async claim(ask: Ask, leaseMs: number): Promise<Verdict> {
    const { id, row } = this.#row(ask);
    if (row && row.print !== ask.fingerprint) {
      return { kind: 'mismatch', fingerprint: row.print, held: row.answer === null };
    }
    if (row && row.answer !== null) return { kind: 'replay', answer: row.answer };
    if (row && row.token !== ask.token)
      return { kind: 'busy', retryAfterMs: row.until - this.time };
    const until = this.time + leaseMs;
    this.rows = this.rows.filter((other) => other !== row);
    this.rows.push({ id, token: ask.token, print: ask.fingerprint, answer: null, until });
    return { kind: 'run' };
  }

  async settle(ask: Ask, answer: string, ttlMs: number): Promise<boolean> {
    const { row } = this.#row(ask);
    if (row?.answer !== null || row.token !== ask.token) return false;
    Object.assign(row, { answer, print: ask.fingerprint, until: this.time + ttlMs });
    return true;
  }

  async release(ask: Ask): Promise<boolean> {
    const { row } = this.#row(ask);
    if (row?.answer !== null || row.token !== ask.token) return false;
    this.rows = this.rows.filter((other) => other !== row);
    return true;
  }

  async wait(): Promise<void> {}
}

function oracleBench(): StoreBench {
  const store = new Oracle();
  return {
    store,
    advance: async (ms) => {
      store.time += ms;
    },
  };
}

describeStoreContract('MemoryStore', memoryBench, oracleBench);

describe('MemoryStore', () => {
  it('a wait that nobody ends is over in time', async () => {
    const clock = new ManualClock();
    const store = new MemoryStore(clock);
    const intent = { scope: 'm', key: 'k' };
    await store.claim({ intent, fingerprint: 'f', token: 't' }, 60_000);
    let over = false;
    const wait = store.wait(intent, 1_000).then(() => {
      over = true;
    });
    await clock.advance(999);
    expect(over).toBe(false);
    await clock.advance(1);
    await wait;
    expect(over).toBe(true);
  });

  it('stays right when thousands of entries have lapsed and been swept', async () => {
    const { store, advance } = memoryBench();
    const ask = (key: string): Ask => ({
      intent: { scope: 'm', key },
      fingerprint: 'f',
      token: key,
    });
    await store.claim(ask('kept'), 60_000);
    for (let i = 0; i < 3_000; i += 1) await store.claim(ask(`short-${i}`), 10);
    await advance(20);
    for (let i = 0; i < 3_000; i += 1) await store.claim(ask(`other-${i}`), 10);
    const other = { ...ask('kept'), token: 'another' };
    expect((await store.claim(other, 10)).kind).toBe('busy');
    expect((await store.claim(ask('short-1'), 10)).kind).toBe('run');
  });
});
