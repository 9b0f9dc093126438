import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { JournalUnavailable } from '../../src/payments/index.ts';
import type { Database } from '../../src/postgres/index.ts';
import { eventually } from '../support/pay.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';
import { type Books, openBooks } from './books.ts';
import { fairMs } from './fair-time.ts';

let books: Books;
beforeAll(async () => {
  books = await openBooks();
});
afterAll(() => books.close());

const SLOWLY = 'select pg_sleep($1::float8)';

async function withProxy(
  options: Parameters<Books['database']>[0],
  work: (database: Database, proxy: FaultProxy) => Promise<void>,
) {
  const url = new URL(books.url);
  const proxy = await startProxy(Number(url.port));
  url.port = String(proxy.port);
  const database = books.database({ url: url.href, ...options });
  try {
    await work(database, proxy);
  } finally {
    await database.close();
    await proxy.close();
  }
}

const sessions = async () => {
  const rows = await books.sql`
    select pid from pg_stat_activity
    where application_name = 'semel' and datname = current_database()`;
  return rows.length;
};

describe('a statement', () => {
  test('that is too slow is given up in its time, and its pool is replaced once', async () => {
    const onSuspicion = vi.fn();
    const database = books.database({ statementMs: 200, onSuspicion });
    const slow = Array.from({ length: 3 }, () => database.run(SLOWLY, [2], 200));
    const ended = Promise.allSettled(slow);
    expect(await fairMs(ended)).toBeLessThan(700);
    for (const { status } of await ended) expect(status).toBe('rejected');
    expect(onSuspicion).toHaveBeenCalledOnce();
    expect(await database.run('select 1 as one', [], 2_000)).toEqual([{ one: 1 }]);
    await database.close();
    await eventually(sessions, (count) => count === 0);
  });

  test('that waits in line is not slow: a burst replaces no pool', async () => {
    const onSuspicion = vi.fn();
    const database = books.database({ poolMax: 2, statementMs: 1_000, onSuspicion });
    const burst = Array.from({ length: 100 }, () => database.run(SLOWLY, [0.03], 10_000));
    await Promise.all(burst);
    expect(onSuspicion).not.toHaveBeenCalled();
    await database.close();
  });

  test('that cannot begin in its time was not run', async () => {
    const database = books.database({ poolMax: 1, statementMs: 4_000 });
    const before = database.run(SLOWLY, [0.7], 4_000);
    const refused = database.run('select 1', [], 300);
    await expect(refused).rejects.toMatchObject({
      name: 'JournalUnavailable',
      cause: { name: 'NotRun' },
    });
    await before;
    await database.close();
  });

  test('uses no more connections than there may be, one at a time each', async () => {
    const database = books.database({ poolMax: 3 });
    const all = Promise.all(Array.from({ length: 12 }, () => database.run(SLOWLY, [0.05], 5_000)));
    let most = 0;
    for (let look = 0; look < 5; look += 1) {
      most = Math.max(most, await sessions());
      await sleep(20);
    }
    await all;
    expect(most).toBeLessThanOrEqual(3);
    await database.close();
  });

  test('that the database refuses says why without telling what was asked', async () => {
    const database = books.database();
    const text = 'select $1::text::uuid';
    const refused = await database.run(text, ['a-secret'], 2_000).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: 'StatementRefused', code: '22P02' });
    const told = JSON.stringify(refused, Object.getOwnPropertyNames(refused as object));
    expect(told).not.toContain('a-secret');
    expect(told).not.toContain('select');
    await database.close();
  });

  test('after the end is refused at once', async () => {
    const database = books.database();
    await database.run('select 1', [], 2_000);
    await database.close();
    await expect(database.run('select 1', [], 2_000)).rejects.toBeInstanceOf(JournalUnavailable);
  });
});

describe('a pool that is given up', () => {
  test('leaves nothing behind, also where it was about to connect', () =>
    withProxy({ statementMs: 150, poolMax: 4 }, async (database, proxy) => {
      for (let round = 0; round < 4; round += 1) {
        await Promise.allSettled(
          Array.from({ length: 4 }, () => database.run('select 1', [], 500)),
        );
        await proxy.set('refuse');
        await Promise.allSettled(
          Array.from({ length: 4 }, () => database.run('select 1', [], 150)),
        );
        await proxy.set('stall');
        await Promise.allSettled(
          Array.from({ length: 8 }, () => database.run('select 1', [], 200)),
        );
        await proxy.set('pass');
      }
      await eventually(
        () => database.run('select 1', [], 500).catch(() => undefined),
        (rows) => rows !== undefined,
      );
      // Time enough for every connection that somebody may still have been about to make.
      await sleep(900);
      expect(await sessions()).toBeLessThanOrEqual(4);
      await database.close();
      await eventually(sessions, (count) => count === 0);
    }));

  test('does not storm a relay that accepts and hangs up', async () => {
    const { createServer } = await import('node:net');
    let accepted = 0;
    const relay = createServer((socket) => {
      accepted += 1;
      socket.on('error', () => {}).end();
    });
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve));
    const { port } = relay.address() as { port: number };
    const url = new URL(books.url);
    url.port = String(port);
    const database = books.database({ url: url.href, poolMax: 4, statementMs: 400 });
    const all = Array.from({ length: 8 }, () => database.run('select 1', [], 800));
    for (const { status } of await Promise.allSettled(all)) expect(status).toBe('rejected');
    expect(accepted).toBeLessThan(100);
    await database.close();
    relay.close();
  });
});
