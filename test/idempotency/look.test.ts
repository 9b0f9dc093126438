import { describe, expect, it } from 'vitest';
import { type Call, MemoryStore, Once, type Result } from '../../src/idempotency/index.ts';

const intent = { scope: 'm', key: 'k' };
const foreign = { intent, fingerprint: 'f', token: 'of a process that died' };

function call(over: Partial<Call<string>>): Call<string> {
  const work = async (): Promise<Result<string>> => ({ kind: 'done', answer: 'own', first: true });
  return { intent, fingerprint: 'f', onInFlight: 'JOIN', work, ...over };
}

async function held() {
  const store = new MemoryStore();
  await store.claim(foreign, 60_000);
  const options = { store, leaseMs: 60_000, answerTtlMs: 60_000, joinWaitMs: 1_500 };
  return new Once({ ...options, journaled: true });
}

describe('while another holds the lease', () => {
  it('the answer that only the journal has is found long before the lease ends', async () => {
    const once = await held();
    const look = async () => ({ kind: 'done', answer: 'kept', first: false }) as const;
    expect(await once.run(call({ look }))).toEqual({
      kind: 'answered',
      how: 'JOINED',
      answer: 'kept',
    });
  });

  it('a call that may not wait looks before it is refused', async () => {
    const once = await held();
    const look = async () => ({ kind: 'open', answer: 'in doubt' }) as const;
    expect(await once.run(call({ look, onInFlight: 'REFUSE' }))).toEqual({
      kind: 'answered',
      how: 'IN_DOUBT',
      answer: 'in doubt',
    });
  });

  it('a look that finds the work still running changes nothing', async () => {
    const once = await held();
    const look = async () => ({ kind: 'busy', retryAfterMs: 1 }) as const;
    expect((await once.run(call({ look, onInFlight: 'REFUSE' }))).kind).toBe('busy');
  });
});

describe('while another payload holds the lease', () => {
  const asks = (once: Once, over: Partial<Call<string>>) =>
    once.run(call({ fingerprint: 'g', onInFlight: 'REFUSE', ...over }));

  it('the journal says whose payload is wrong', async () => {
    const once = await held();
    const mine = async () => ({ kind: 'done', answer: 'kept', first: false }) as const;
    expect(await asks(once, { look: mine })).toEqual({
      kind: 'answered',
      how: 'REPLAYED',
      answer: 'kept',
    });
    const waits = async () => ({ kind: 'open', answer: 'in doubt' }) as const;
    expect(await asks(once, { look: waits })).toMatchObject({ how: 'IN_DOUBT' });
    const mismatch = { kind: 'mismatch', fingerprint: 'h' } as const;
    expect(await asks(once, { look: async () => mismatch })).toEqual(mismatch);
  });

  it.each(['busy', 'released'] as const)('what the journal knows as %s waits', async (kind) => {
    const once = await held();
    const answer = 'not yet';
    const look = async () => ({ kind, answer, retryAfterMs: 1 }) as Result<string>;
    expect((await asks(once, { look })).kind).toBe('busy');
  });

  it('what no journal knows is the holder’s, and so is all of it without one', async () => {
    const once = await held();
    const mismatch = { kind: 'mismatch', fingerprint: 'f' };
    expect(await asks(once, { look: async () => undefined })).toEqual(mismatch);
    expect(await asks(once, {})).toEqual(mismatch);
  });
});
