/**
 * Keys in Postgres alone, in the manner of "Implementing Stripe-like idempotency keys in Postgres"
 * (Brandur Leach): atomic phases in SERIALIZABLE transactions between foreign calls, each ending at a
 * recovery point.
 */
import type { TransactionSql } from 'postgres';
import {
  answerOf,
  charge,
  IN_PROGRESS,
  LOCK_MS,
  type Payment,
  type Reply,
  serve,
  sql,
} from './kit.ts';

type Point = 'started' | 'recorded' | 'charged' | 'finished';
interface KeyRow {
  readonly recovery_point: Point;
  readonly is_locked: boolean;
  readonly payment_id: string | null;
  readonly response: string | null;
}
type Phase<T> = (transaction: TransactionSql) => Promise<T>;

const SERIALIZATION_FAILURE = '40001';
const UNIQUE_VIOLATION = '23505';
const MOST_TRIES = 50;

/** A phase that met another one is begun again. */
async function atomic<T>(phase: Phase<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return (await sql.begin('isolation level serializable', phase)) as T;
    } catch (error) {
      const { code } = error as { code?: string };
      const isRace = code === SERIALIZATION_FAILURE || code === UNIQUE_VIOLATION;
      if (!isRace || tries === MOST_TRIES) throw error;
    }
  }
}

const lock = (key: string): Promise<KeyRow | undefined> =>
  atomic(async (transaction) => {
    const [row] = await transaction<KeyRow[]>`
      select recovery_point, payment_id, response,
        locked_at > clock_timestamp() - ${LOCK_MS} * interval '1 ms' as is_locked
      from shop_keys where idempotency_key = ${key}`;
    if (row?.recovery_point === 'finished') return row;
    if (row?.is_locked === true) return undefined;
    const [mine] = await transaction<KeyRow[]>`
      insert into shop_keys (idempotency_key, recovery_point, locked_at)
      values (${key}, 'started', clock_timestamp())
      on conflict (idempotency_key) do update set locked_at = clock_timestamp()
      returning recovery_point, payment_id, response, false as is_locked`;
    return mine;
  });

const record = (key: string, { amountMinor, currency }: Payment): Promise<string> =>
  atomic(async (transaction) => {
    const [row] = await transaction<{ id: string }[]>`
      insert into shop_payments (idempotency_key, amount_minor, currency)
      values (${key}, ${amountMinor}, ${currency}) returning id`;
    const id = row?.id ?? '';
    await transaction`
      update shop_keys set recovery_point = 'recorded', payment_id = ${id}
      where idempotency_key = ${key}`;
    return id;
  });

const finish = (key: string, id: string, reference: string, text: string): Promise<void> =>
  atomic(async (transaction) => {
    await transaction`update shop_payments set psp_reference = ${reference} where id = ${id}`;
    await transaction`
      update shop_keys set recovery_point = 'finished', response = ${text}, locked_at = null
      where idempotency_key = ${key}`;
  });

serve(async (key, payment): Promise<Reply> => {
  const row = await lock(key);
  if (row === undefined) return IN_PROGRESS;
  if (row.response !== null) return { status: 200, text: row.response };
  const id = row.payment_id ?? (await record(key, payment));
  const reference = await charge(key, payment);
  const text = answerOf(id, payment);
  await finish(key, id, reference, text);
  return { status: 200, text };
});
