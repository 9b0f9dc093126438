import type { IntentRecord } from '../record.ts';
import { sleep } from '../retry.ts';
import type { IntentStore } from '../store.ts';
import { exclusiveByLease } from './lease.ts';

type Row = Readonly<Record<string, unknown>>;

/**
 * Runs one statement with `$1`-style parameters, and gives its rows: `sql.unsafe` of postgres.js, or
 * `client.query` of node-postgres. Each call may use another connection.
 */
export type RunSql = (
  text: string,
  parameters: (string | number | null)[],
) => PromiseLike<readonly Row[] | { readonly rows: readonly Row[] }>;

export interface SqlStoreOptions {
  readonly run: RunSql;
  /** Whose intents these are: one for each job or service. */
  readonly owner: string;
  /** The table, made if it is not there. A plain name, or one with its schema in front. */
  readonly table?: string;
  /** How long an intent stays locked after its process died, in ms. */
  readonly leaseMs?: number;
  /** See `IntentStore`. */
  readonly maxAgeMs?: number;
  readonly onFailure?: 'memory' | 'refuse';
}

const NAME = /^[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)?$/;

/**
 * Keeps intents in Postgres (9.5 or newer), for jobs and services: they outlive the process, and
 * processes take turns. The lock is a lease in the row, by the database's clock: it needs no
 * connection of its own, and it ends by itself when its owner dies.
 *
 * If the database cannot be asked, nothing is sent (`STORE_UNAVAILABLE`): a job that forgot its keys
 * would pay again tomorrow. Set `onFailure: 'memory'` if all keys are the job's own (`stableKey`).
 */
export function sqlStore(options: SqlStoreOptions): IntentStore {
  const { owner, table = 'semel_intents', leaseMs = 10_000, maxAgeMs } = options;
  if (!NAME.test(table)) throw new TypeError(`"${table}" is no plain name of a table.`);
  let made: Promise<void> | undefined;
  async function run(text: string, ...parameters: (string | number | null)[]) {
    made ??= makeTable(options.run, table).catch((error) => {
      made = undefined;
      throw error;
    });
    await made;
    return rowsOf(await options.run(text, parameters));
  }
  const of = 'where owner = $1 and place = $2';
  return {
    durability: 'durable',
    maxAgeMs,
    onFailure: options.onFailure ?? 'refuse',
    read: async (place) => {
      const [row] = await run(`select record from ${table} ${of}`, owner, place);
      return parse(row?.['record']);
    },
    swap: async (place, expected, next) => {
      const is = 'is not distinct from $3::text';
      const rows =
        expected === undefined
          ? await run(
              `insert into ${table} as intent (owner, place, record) values ($1, $2, $3)
               on conflict (owner, place) do update set record = excluded.record
               where intent.record is null returning 1 as ok`,
              owner,
              place,
              text(next),
            )
          : await run(
              `update ${table} set record = $4 ${of} and record ${is} returning 1 as ok`,
              owner,
              place,
              text(expected),
              text(next),
            );
      return rows.length > 0;
    },
    exclusive: exclusiveByLease(
      {
        take: async (place, token, ms) => {
          const rows = await run(
            `insert into ${table} as intent (owner, place, lease, lease_until)
             values ($1, $2, $3, clock_timestamp() + $4::int * interval '1 millisecond')
             on conflict (owner, place) do update
             set lease = excluded.lease, lease_until = excluded.lease_until
             where intent.lease is null or intent.lease = $3
                or intent.lease_until < clock_timestamp()
             returning 1 as ok`,
            owner,
            place,
            token,
            ms,
          );
          return rows.length > 0;
        },
        give: async (place, token) => {
          await run(`update ${table} set lease = null ${of} and lease = $3`, owner, place, token);
        },
      },
      leaseMs,
    ),
    watch: () => () => {},
    list: async () => {
      const rows = await run(
        `select place, record from ${table} where owner = $1 and record is not null order by place`,
        owner,
      );
      return rows.flatMap((row) => {
        const record = parse(row['record']);
        return record ? [[String(row['place']), record] as const] : [];
      });
    },
  };
}

function text(record: IntentRecord | undefined): string | null {
  return record ? JSON.stringify(record) : null;
}

function parse(record: unknown): IntentRecord | undefined {
  return typeof record === 'string' ? JSON.parse(record) : undefined;
}

function rowsOf(result: readonly Row[] | { readonly rows: readonly Row[] }): readonly Row[] {
  return 'rows' in result ? result.rows : result;
}

/** "If not exists" can still fail when two processes start at once: the second try then finds it. */
async function makeTable(run: RunSql, table: string): Promise<void> {
  const exists = async (): Promise<boolean> => {
    try {
      await run(`select from ${table} limit 0`, []);
      return true;
    } catch {
      return false;
    }
  };
  const definition = `create table if not exists ${table} (
    owner text not null,
    place text not null,
    record text,
    lease text,
    lease_until timestamptz,
    primary key (owner, place)
  )`;
  for (let tries = 1; !(await exists()); tries += 1) {
    try {
      await run(definition, []);
    } catch (error) {
      if (tries === 3) throw error;
      await sleep(50 * tries);
    }
  }
}
