import pg from 'pg';
import postgres from 'postgres';
import { Database } from '../../../src/postgres/index.ts';

/** A way to write two rows that belong together; resolves once they are written. */
export interface Driver {
  readonly name: string;
  write(id: string): Promise<void>;
  close(): Promise<void>;
}

const POOL = 8;
const STATEMENT_MS = 700;
const BUDGET_MS = 1_500;

/** What the product uses: one statement at a time, under a deadline, run again while it may be. */
export function guarded(url: string): Driver {
  const database = new Database({ url, poolMax: POOL, statementMs: STATEMENT_MS });
  const text = `insert into writes (id, part) values ($1::text, 1), ($1::text, 2)
    on conflict do nothing`;
  return {
    name: 'postgres.js, one statement, guarded',
    write: async (id) => void (await database.run(text, [id], BUDGET_MS)),
    close: () => database.close(),
  };
}

function pgPool(url: string): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: POOL,
    connectionTimeoutMillis: BUDGET_MS,
    query_timeout: STATEMENT_MS,
    keepAlive: true,
  });
  pool.on('error', () => {});
  return pool;
}

/** `pg` as its documentation has a transaction, with its own time-outs. */
export function nodePostgres(url: string): Driver {
  const pool = pgPool(url);
  return {
    name: 'pg, a transaction',
    write: async (id) => {
      const client = await pool.connect();
      try {
        await client.query('begin');
        await client.query('insert into writes (id, part) values ($1, 1)', [id]);
        await client.query('insert into writes (id, part) values ($1, 2)', [id]);
        await client.query('commit');
        client.release();
      } catch (error) {
        client.release(true);
        throw error;
      }
    },
    close: () => pool.end(),
  };
}

/** `pg` with the statement of the guarded way: what is left is the driver itself. */
export function nodePostgresStatement(url: string): Driver {
  const pool = pgPool(url);
  const text = `insert into writes (id, part) values ($1::text, 1), ($1::text, 2)
    on conflict do nothing`;
  return {
    name: 'pg, one statement',
    write: async (id) => void (await pool.query(text, [id])),
    close: () => pool.end(),
  };
}

/** postgres.js as its documentation has a transaction. */
export function postgresJs(url: string): Driver {
  const sql = postgres(url, { max: POOL, connect_timeout: 2, onnotice: () => {} });
  return {
    name: 'postgres.js, begin()',
    write: async (id) => {
      await sql.begin(async (tx) => {
        await tx`insert into writes (id, part) values (${id}, 1)`;
        await tx`insert into writes (id, part) values (${id}, 2)`;
      });
    },
    close: () => sql.end({ timeout: 1 }),
  };
}
