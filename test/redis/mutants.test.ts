import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCRIPTS, type Scripts, script } from '../../src/redis/index.ts';
import { type StoreCheck, storeChecks } from '../contract/store-contract.ts';
import { startTestRedis, type TestRedis } from '../support/with-redis.ts';
import { openStore, redisBench } from './redis-bench.ts';

let redis: TestRedis;

beforeAll(async () => {
  redis = await startTestRedis();
});

afterAll(async () => {
  await redis?.stop();
});

/** The named script with one line changed; fails if the line is not there any more. */
function mutant(verb: keyof Scripts, line: string, instead: string): Partial<Scripts> {
  const { text } = SCRIPTS[verb];
  expect(text.split(line)).toHaveLength(2);
  return { [verb]: script(text.replace(line, instead)) };
}

/** The promises that a store with these scripts breaks. */
async function brokenBy(scripts: Partial<Scripts>): Promise<string[]> {
  const store = await openStore(redis.url, { budgetMs: 2_000, scripts });
  const bench = redisBench(store, redis.client());
  const broken: string[] = [];
  try {
    for (const [promise, check] of Object.entries<StoreCheck>(storeChecks)) {
      await redis.flush();
      await check(bench).catch(() => broken.push(promise));
    }
  } finally {
    store.close();
  }
  return broken;
}

const TOKEN_CHECK = 'if entry.token ~= token then return 0 end';

describe('the contract catches a script that', () => {
  it('is the right one: nothing is broken', async () => {
    expect(await brokenBy({})).toEqual([]);
  });

  it('settles without looking at the token', async () => {
    expect(await brokenBy(mutant('settle', TOKEN_CHECK, ''))).toEqual([
      'an owner whose lease has ended cannot settle over the next owner',
    ]);
  });

  it('releases without looking at the token', async () => {
    expect(await brokenBy(mutant('release', TOKEN_CHECK, ''))).toEqual([
      'an owner whose lease has ended cannot release the next owner',
    ]);
  });

  it('answers busy to the owner of the lease', async () => {
    const scripts = mutant('claim', 'if entry.token ~= token then return', 'do return');
    expect(await brokenBy(scripts)).toEqual([
      'a claim that is sent again by its own owner runs',
      'a claim that is sent again starts the lease anew',
    ]);
  });

  it('does not look at the fingerprint', async () => {
    const scripts = mutant('claim', 'if entry.fingerprint ~= fingerprint then', 'if false then');
    expect(await brokenBy(scripts)).toEqual(
      expect.arrayContaining([
        'another payload is a mismatch while the first runs, before busy',
        'another payload is a mismatch after the answer, before replay',
      ]),
    );
  });

  it('says busy before it looks at the fingerprint', async () => {
    const line = 'if entry.fingerprint ~= fingerprint then';
    const scripts = mutant(
      'claim',
      line,
      `if entry.kind == 'answered' and entry.fingerprint ~= fingerprint then`,
    );
    expect(await brokenBy(scripts)).toContain(
      'another payload is a mismatch while the first runs, before busy',
    );
  });

  it('keeps an answer no longer than the lease', async () => {
    const scripts = mutant('settle', "answered, 'PX', ttl", "answered, 'KEEPTTL'");
    expect(await brokenBy(scripts)).toEqual([
      'an answer outlives the lease and ends with its own time',
    ]);
  });

  it('tells nobody of the answer', async () => {
    const line = "redis.call('PUBLISH', channel, 'answered')";
    expect(await brokenBy(mutant('settle', line, ''))).toEqual([
      'who has waited for a while is woken by the answer',
    ]);
  });
});
