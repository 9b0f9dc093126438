import { describe, expect, test } from 'vitest';
import { BadConfiguration, readConfig } from '../../src/main/config.ts';

function problemsOf(environment: Readonly<Record<string, string>>): string {
  try {
    readConfig(environment);
  } catch (error) {
    if (error instanceof BadConfiguration) return error.message;
    throw error;
  }
  return '';
}

test('nothing set is a configuration, and an empty text is nothing', () => {
  const config = readConfig({});
  expect(config).toMatchObject({
    PSP: 'simulator',
    PSP_TIMEOUT_MS: 15_000,
    lockTtlMs: 22_000,
    RECOVER_AFTER_MS: 30_000,
    ANSWER_TTL_S: 86_400,
    JOIN_WAIT_MS: 5_000,
    NEAR_ANSWERS_MS: 2_000,
    DRAIN_MS: 20_000,
    DATABASE_POOL_MAX: 8,
  });
  expect(readConfig({ PORT: '', DATABASE_URL: '', DEMO_API_KEY: '' })).toEqual(config);
});

test.each([
  'redis://127.0.0.1:6379/3',
  'unix:///run/redis.sock',
  'redis-sentinel://one:26379,two:26379,three:26379/payments',
  'rediss-cluster://:secret@one:6379,two:6379',
])('REDIS_URL may be %s', (REDIS_URL) => {
  expect(readConfig({ REDIS_URL })).toMatchObject({ REDIS_URL });
});

test('all problems come at once: the variable, what was given, what is accepted', () => {
  const told = problemsOf({
    PORT: '70000',
    SIMULATOR_URL: 'nowhere',
    PSP: 'cash',
    PSP_TIMEOUT_MS: 'soon',
    DATABASE_POOL_MAX: '0',
    LOG_LEVEL: 'loud',
    PLAYGROUND: 'perhaps',
    NODE_ENV: 'staging',
    ANSWER_TTL_S: '1.5',
    JOIN_WAIT_MS: '10001',
    NEAR_ANSWERS_MS: '10001',
  });
  const expected = [
    /PORT is "70000"; accepted: a port from 0 .* to 65535/,
    /SIMULATOR_URL is "nowhere"; accepted: a URL that begins with http:\/\//,
    /PSP is "cash"; accepted: simulator, stripe/,
    /PSP_TIMEOUT_MS is "soon"; accepted: a whole number of milliseconds/,
    /DATABASE_POOL_MAX is "0"; accepted: .*1 to 1000/,
    /LOG_LEVEL is "loud"; accepted: trace, debug/,
    /PLAYGROUND is "perhaps"; accepted: on or off/,
    /NODE_ENV is "staging"; accepted: development, test or production/,
    /ANSWER_TTL_S is "1.5"; accepted: a whole number of seconds/,
    /JOIN_WAIT_MS is "10001"; accepted: .*0 to 10000/,
    /NEAR_ANSWERS_MS is "10001"; accepted: .*0 to 10000/,
  ];
  for (const line of expected) expect(told).toMatch(line);
  expect(told.split('\n')).toHaveLength(1 + expected.length);
});

test('what may be a secret is never repeated', () => {
  const told = problemsOf({
    DATABASE_URL: 'mysql://root:hunter2@db/semel',
    REDIS_URL: 'http://:hunter2@redis',
    SIMULATOR_URL: 'ftp://semel:hunter2@psp',
    DEMO_API_KEY: 'hunter2 \n',
  });
  expect(told).toMatch(/DATABASE_URL is .*accepted: a URL that begins with postgres:\/\//);
  expect(told).toMatch(/REDIS_URL is .*accepted: redis:\/\/host:port/);
  expect(told).toMatch(/DEMO_API_KEY is .*accepted: 8 to 200 visible ASCII characters/);
  expect(told).not.toContain('hunter2');
});

test('Stripe needs a key, which is repeated to nobody, and no simulator', () => {
  expect(() => readConfig({ PSP: 'stripe' })).toThrow(
    /STRIPE_SECRET_KEY is not set; accepted with/,
  );
  const bad = () => readConfig({ PSP: 'stripe', STRIPE_SECRET_KEY: 'my secret' });
  expect(bad).toThrow(/STRIPE_SECRET_KEY is something else/);
  expect(bad).not.toThrow(/my secret/);
  const production = { NODE_ENV: 'production', DATABASE_URL: 'postgres://db/semel' };
  const config = readConfig({
    ...production,
    PSP: 'stripe',
    STRIPE_SECRET_KEY: 'sk_test_12345678',
  });
  expect(config.PSP).toBe('stripe');
});

test('webhooks to merchants: keys are 32 bytes and repeated to nobody, pauses are a list', () => {
  const key = Buffer.alloc(32, 7).toString('base64');
  const config = readConfig({
    WEBHOOK_SECRET_KEY: `${key}, ${key}`,
    WEBHOOK_RETRY_DELAYS_MS: '5,10',
    WEBHOOK_ALLOW_PRIVATE: 'on',
  });
  expect(config).toMatchObject({ WEBHOOK_RETRY_DELAYS_MS: [5, 10], WEBHOOK_ALLOW_PRIVATE: 'on' });
  const told = problemsOf({
    WEBHOOK_SECRET_KEY: 'hunter2',
    WEBHOOK_RETRY_DELAYS_MS: '5 s',
    WEBHOOK_ALLOW_PRIVATE: 'some',
    WEBHOOK_TIMEOUT_MS: '0',
  });
  expect(told).toMatch(/WEBHOOK_SECRET_KEY is something else; accepted: keys of 32 bytes/);
  expect(told).toMatch(/WEBHOOK_RETRY_DELAYS_MS is "5 s"; accepted: 1 to 30 whole numbers/);
  expect(told).toMatch(/WEBHOOK_ALLOW_PRIVATE is "some"; accepted: off, loopback, on/);
  expect(told).toMatch(/WEBHOOK_TIMEOUT_MS is "0"/);
});

describe('the order of the times', () => {
  const ORDER = { PSP_TIMEOUT_MS: '20000', CLOCK_DRIFT_MS: '500', LOCK_GRACE_MS: '2000' };

  test.each([
    [{ RECOVER_AFTER_MS: '22500' }, /RECOVER_AFTER_MS is 22500; .*20000 .*500 .*2000 = 22500/],
    [{ LOCK_GRACE_MS: '500' }, /CLOCK_DRIFT_MS \+ LOCK_GRACE_MS is 1000; accepted: at least 1500/],
    [{ ANSWER_TTL_S: '30' }, /ANSWER_TTL_S is 30; .*RECOVER_AFTER_MS \(30000 ms\)/],
    [{ DRAIN_MS: '20000' }, /DRAIN_MS is 20000; .*PSP_TIMEOUT_MS \(20000\)/],
  ])('%j is refused with the numbers', (wrong, message) => {
    expect(problemsOf({ ...ORDER, DRAIN_MS: '20001' })).toBe('');
    expect(problemsOf({ ...ORDER, DRAIN_MS: '20001', ...wrong })).toMatch(message);
  });

  test('is looked at also if another variable is wrong', () => {
    const told = problemsOf({ ...ORDER, PORT: 'http', RECOVER_AFTER_MS: '1000', PSP: 'cash' });
    expect(told).toMatch(/PORT is "http"/);
    expect(told).toMatch(/RECOVER_AFTER_MS is 1000/);
  });

  test('is not guessed at where one of its own is wrong', () => {
    const told = problemsOf({ ...ORDER, RECOVER_AFTER_MS: 'soon' });
    expect(told.match(/RECOVER_AFTER_MS is/g)).toHaveLength(1);
  });
});

test('in production the demo key is refused, and nothing is embedded', () => {
  const told = problemsOf({
    NODE_ENV: 'production',
    DEMO_API_KEY: 'sk_live_0123456789',
    PORT: 'x',
  });
  expect(told).toMatch(/DEMO_API_KEY is set; accepted with NODE_ENV=production: not to set it/);
  expect(told).toMatch(/DATABASE_URL is not set/);
  expect(told).toMatch(/SIMULATOR_URL is not set/);
  expect(told).toMatch(/PORT is "x"/);
  expect(told).not.toContain('sk_live');
});
