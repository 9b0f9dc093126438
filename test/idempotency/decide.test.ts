import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decide, type Entry } from '../../src/idempotency/index.ts';

const NOW = 1_000;
const mine = { fingerprint: 'pay 10.50', token: 'mine' };
const held = (over: Partial<Extract<Entry, { kind: 'held' }>> = {}): Entry => ({
  kind: 'held',
  fingerprint: 'pay 10.50',
  token: 'theirs',
  endsAt: NOW + 500,
  ...over,
});
const answered = (over: Partial<Extract<Entry, { kind: 'answered' }>> = {}): Entry => ({
  kind: 'answered',
  fingerprint: 'pay 10.50',
  answer: '=1',
  endsAt: NOW + 500,
  ...over,
});

describe('a claim', () => {
  it('of an intent nobody has asked for runs', () => {
    expect(decide(undefined, mine, NOW)).toEqual({ kind: 'run' });
  });

  it('of an intent somebody else holds is busy for the rest of the lease', () => {
    expect(decide(held(), mine, NOW)).toEqual({ kind: 'busy', retryAfterMs: 500 });
  });

  it('is told whole milliseconds, and never zero', () => {
    const verdict = decide(held({ endsAt: NOW + 0.2 }), mine, NOW);
    expect(verdict).toEqual({ kind: 'busy', retryAfterMs: 1 });
  });

  it('of an intent the same caller holds runs', () => {
    expect(decide(held({ token: 'mine' }), mine, NOW)).toEqual({ kind: 'run' });
  });

  it('of an answered intent is a replay', () => {
    expect(decide(answered(), mine, NOW)).toEqual({ kind: 'replay', answer: '=1' });
  });

  it('with another payload is a mismatch that tells the first fingerprint', () => {
    const mismatch = { kind: 'mismatch', fingerprint: 'pay 99.00' };
    const heldNow = decide(held({ fingerprint: 'pay 99.00' }), mine, NOW);
    expect(heldNow).toEqual({ ...mismatch, held: true });
    const answeredNow = decide(answered({ fingerprint: 'pay 99.00' }), mine, NOW);
    expect(answeredNow).toEqual({ ...mismatch, held: false });
  });

  it('with another payload is a mismatch even to the holder of the token', () => {
    const entry = held({ token: 'mine', fingerprint: 'pay 99.00' });
    expect(decide(entry, mine, NOW).kind).toBe('mismatch');
  });

  it('of a lease or an answer whose time is over runs, whatever the payload', () => {
    for (const fingerprint of ['pay 10.50', 'pay 99.00']) {
      expect(decide(held({ endsAt: NOW, fingerprint }), mine, NOW)).toEqual({ kind: 'run' });
      expect(decide(answered({ endsAt: NOW, fingerprint }), mine, NOW)).toEqual({ kind: 'run' });
    }
  });
});

describe('whatever a store holds,', () => {
  const text = fc.constantFrom('a', 'b', 'c');
  const time = fc.integer({ min: 0, max: 20 });
  const entry: fc.Arbitrary<Entry> = fc.oneof(
    fc.record({ kind: fc.constant('held' as const), fingerprint: text, token: text, endsAt: time }),
    fc.record({
      kind: fc.constant('answered' as const),
      fingerprint: text,
      answer: fc.string(),
      endsAt: time,
    }),
  );
  const ask = fc.record({ fingerprint: text, token: text });

  it('only a free intent or the own token runs', () => {
    fc.assert(
      fc.property(entry, ask, time, (found, asked, now) => {
        const runs = decide(found, asked, now).kind === 'run';
        const lapsed = found.endsAt <= now;
        const own = found.kind === 'held' && found.token === asked.token;
        expect(runs).toBe(lapsed || (own && found.fingerprint === asked.fingerprint));
      }),
    );
  });

  it('an answer is given only for its own payload', () => {
    fc.assert(
      fc.property(entry, ask, time, (found, asked, now) => {
        const verdict = decide(found, asked, now);
        if (verdict.kind !== 'replay') return;
        expect(found).toMatchObject({ kind: 'answered', fingerprint: asked.fingerprint });
        expect(found).toHaveProperty('answer', verdict.answer);
      }),
    );
  });
});
