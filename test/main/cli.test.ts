import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { ask, eventually, freshKey, paid, pay } from '../support/pay.ts';
import { startTestServer } from '../support/with-server.ts';
import { startTestSimulator, type TestSimulator } from '../support/with-simulator.ts';
import { type Ended, semel } from './semel.ts';

/** Each test starts processes, and a busy machine starts them slowly. */
vi.setConfig({ testTimeout: 180_000 });

let database: TestDatabase;
let simulator: TestSimulator;

beforeAll(async () => {
  [database, simulator] = await Promise.all([createDatabase(), startTestSimulator()]);
}, 60_000);

afterAll(async () => {
  await simulator.stop();
  await database.drop();
});

const places = () => ({ DATABASE_URL: database.url, SIMULATOR_URL: simulator.url });

/** Refused in words for a person: no stack, no statement. */
function expectRefused({ code, err }: Ended, words: RegExp): void {
  expect(code).toBe(1);
  expect(err).toMatch(words);
  expect(err).not.toMatch(/\n\s+at |node_modules|Failed query|insert into|select |\$1/);
}

describe('help', () => {
  test.each([
    [['--help'], ['serve', 'migrate', 'keys', 'simulator', 'recover', 'environment']],
    [
      ['keys', 'create', '--help'],
      ['--merchant', '--scopes', '--expires', 'payments:write'],
    ],
  ])('semel %j', async (args, words) => {
    const { code, out, err } = await semel(args);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    for (const word of words) expect(out).toContain(word);
  });

  test('is what a wrong argument gets', async () => {
    const wrong = ['keys', 'create', '--merchant', 'm', '--scopes', 'all'];
    expectRefused(await semel(wrong), /payments:read, payments:write/);
  });
});

describe('without a database', () => {
  test('its variable is named', async () => {
    expectRefused(await semel(['keys', 'list']), /^semel: .*\n?.*DATABASE_URL is not set/);
  });

  test('that can be reached there is one line, without the password', async () => {
    const DATABASE_URL = 'postgres://semel:hunter2@127.0.0.1:1/none';
    const ended = await semel(['keys', 'list'], { DATABASE_URL });
    expectRefused(ended, /^semel: .*ECONNREFUSED.*\n$/);
    expect(ended.err).not.toContain('hunter2');
  });
});

test('serve with a configuration that cannot be used tells all of it and starts nothing', async () => {
  const ended = await semel(['serve'], {
    PORT: '70000',
    DATABASE_URL: 'mysql://root:hunter2@db/semel',
    RECOVER_AFTER_MS: '1',
  });
  expectRefused(ended, /PORT is "70000".*DATABASE_URL is.*RECOVER_AFTER_MS is 1;/s);
  expect(ended.out).toBe('');
  expect(ended.err).not.toContain('hunter2');
});

describe('migrate and keys', () => {
  test('a database that was never migrated: what to type', async () => {
    expectRefused(await semel(['keys', 'list'], places()), /^semel: .*semel migrate\n$/);
  });

  test('migrate may be run by several at once', async () => {
    const both = await Promise.all([semel(['migrate'], places()), semel(['migrate'], places())]);
    for (const { code, out } of both) {
      expect(code).toBe(0);
      expect(out).toContain('up to date');
    }
  });

  test('create prints the key as its last line, list hides it, revoke ends it', async () => {
    const made = await semel(
      ['keys', 'create', '--merchant', 'The Shop', '--name', 'till'],
      places(),
    );
    expect(made.code).toBe(0);
    const apiKey = made.out.trimEnd().split('\n').at(-1) ?? '';
    expect(apiKey).toMatch(/^sk_[\w-]{43}$/);

    const server = await startTestServer({ env: places() });
    try {
      const target = { url: server.url, apiKey };
      expect(paid(await pay(target, freshKey())).payment?.status).toBe('CAPTURED');

      const listed = await semel(['keys', 'list'], places());
      const line = listed.out.split('\n').find((one) => one.includes('till')) ?? '';
      expect(line).toContain('The Shop');
      expect(line).toContain('payments:read,payments:write');
      expect(listed.out).not.toContain(apiKey);

      const revoked = await semel(['keys', 'revoke', line.split(' ')[0] ?? ''], places());
      expect({ code: revoked.code, err: revoked.err }).toEqual({ code: 0, err: '' });
      await eventually(
        async () => (await ask(target, '{ payments { nodes { id } } }')).status,
        (status) => status === 401,
        4_000,
      );
    } finally {
      await server.stop();
    }
    expect((await semel(['keys', 'list'], places())).out).toMatch(/till.*revoked/);
  });

  test('revoke of what is no key says so', async () => {
    expectRefused(await semel(['keys', 'revoke', "'; --"], places()), /no key '; --/);
  });
});

test('a port that is taken is named, in one line', async () => {
  const taken = createServer().listen(0, '127.0.0.1');
  await once(taken, 'listening');
  const { port } = taken.address() as AddressInfo;
  try {
    const ended = await semel(['serve'], { ...places(), PORT: `${port}`, DATA_DIR: '/nowhere' });
    expectRefused(ended, new RegExp(`^semel: PORT is ${port}, .*accepted: a free port.*\\n$`, 'm'));
  } finally {
    taken.close();
  }
});
