import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stableKey } from '../../src/client/index.ts';
import { type SqlStoreOptions, sqlStore } from '../../src/client/stores/sql.ts';
import { createDatabase, type TestDatabase } from '../support/database.ts';
import { CART, euros, shop } from './shop.ts';
import { recordOf, storeContract } from './store-contract.ts';

let database: TestDatabase;
let sql: postgres.Sql;

beforeAll(async () => {
  database = await createDatabase();
  sql = postgres(database.url, { max: 4, onnotice: () => {} });
});

afterAll(async () => {
  await sql?.end();
  await database?.drop();
});

function open(more: Partial<SqlStoreOptions> = {}) {
  return sqlStore({
    run: (text, parameters) => sql.unsafe(text, parameters),
    owner: 'job',
    ...more,
  });
}

describe('the store in Postgres', () => {
  storeContract(() => open());

  it('makes its table, also when many start at once', async () => {
    const table = 'made_at_once';
    const stores = Array.from({ length: 6 }, () => open({ table }));
    await Promise.all(stores.map((store) => store.read('here')));
    expect(await open({ table }).list()).toEqual([]);
  });

  it('keeps owners apart', async () => {
    await open({ owner: 'one' }).swap('here', undefined, recordOf());
    expect(await open({ owner: 'other' }).read('here')).toBeUndefined();
    expect(await open({ owner: 'other' }).list()).toEqual([]);
  });

  it('takes the rows of node-postgres, too', async () => {
    const store = open({
      run: async (text, parameters) => ({ rows: await sql.unsafe(text, parameters) }),
    });
    await store.swap('rows', undefined, recordOf());
    expect(await store.read('rows')).toEqual(recordOf());
  });

  it('frees what a dead process held, after the lease', async () => {
    const began = Date.now();
    const never = new Promise<never>(() => {});
    let stopped = false;
    const dying = sqlStore({
      owner: 'job',
      leaseMs: 300,
      run: (text, parameters) => (stopped ? never : sql.unsafe(text, parameters)),
    });
    await new Promise<void>((resolve) => {
      void dying.exclusive('dies', () => {
        stopped = true;
        resolve();
        return never;
      });
    });
    expect(await open().exclusive('dies', async () => 'mine')).toBe('mine');
    expect(Date.now() - began).toBeGreaterThanOrEqual(290);
  });

  it('holds a place for as long as the work goes on', async () => {
    const store = open({ leaseMs: 600 });
    let inside = true;
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const slow = store.exclusive('slow', async () => {
      begin();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      inside = false;
    });
    // Whoever comes first goes first: the other one comes when the place is taken.
    await begun;
    const other = open({ leaseMs: 600 }).exclusive('slow', async () => inside);
    expect(await other).toBe(false);
    await slow;
  });

  it('lets a job that starts again find its unsettled intents', async () => {
    const first = shop(Array(5).fill('dropAnswer'), {
      store: open({ owner: 'nightly' }),
      more: { retry: { baseMs: 1 } },
    });
    const key = () => stableKey('invoice', 7, 1);
    const end = await first.pay.run('createPayment', euros(500), { key: key() });
    expect(end.kind).toBe('unknown');
    const { pay } = shop([], { server: first.server, store: open({ owner: 'nightly' }) });
    expect(await pay.unsettled()).toMatchObject([{ key: await key(), operation: 'CreatePayment' }]);
    expect(await pay.run('createPayment', euros(500), { key: key() })).toMatchObject({
      kind: 'settled',
      replayed: true,
    });
    expect(await pay.unsettled()).toEqual([]);
    expect(first.server.charges).toHaveLength(1);
  });

  it('sends nothing if the database cannot be asked', async () => {
    const store = sqlStore({ owner: 'job', run: () => Promise.reject(new Error('down')) });
    const { pay, server } = shop([], { store });
    const end = await pay.run('createPayment', euros(500), CART);
    expect(end).toMatchObject({ kind: 'rejected', problem: { code: 'STORE_UNAVAILABLE' } });
    expect(server.requests).toEqual([]);
  });

  it('refuses a table name that is more than a name', () => {
    expect(() => open({ table: 'x; drop table y' })).toThrow(TypeError);
  });
});
