import { randomUUID } from 'node:crypto';
import {
  type CancelIntent,
  type CancelJournal,
  type CancelOpened,
  JournalUnavailable,
} from '../payments/index.ts';
import type { Database } from './connect.ts';
import { uuidV7 } from './ids.ts';
import { newEntry } from './open-rows.ts';
import { toRecorded } from './rows.ts';
import { isTaken } from './statement-refused.ts';
import { READ_BY_KEY } from './statements.ts';

const COLUMNS = `merchant_id, id, payment_id, idempotency_key, operation, amount, amount_minor,
    currency, exponent, fingerprint_version, fingerprint, state, outcome_source, reason, request,
    owner_token, lease_until, psp, psp_idempotency_key, sent_at, settled_at, created_at`;

const values = (id: string, payment: string, key: string, request: string, pspKey: string) => `
    f.merchant_id, f.${id}, ${payment}, f.${key}, 'CANCEL', 0, 0, 'XXX', 0, f.fingerprint_version,
    f.fingerprint, 'SUCCEEDED', 'OPERATOR', null, ${request}, f.owner_token, clock_timestamp(), f.psp,
    f.${pspKey}, clock_timestamp(), clock_timestamp(), now()`;

/**
 * An entry in the place of the key, and one for the request itself. Where the key's entry was provably
 * not sent, it is closed instead: it may not be tried again. No money has no currency (XXX).
 */
const CANCEL = `
with asked as (
  select * from json_to_recordset($1::text::json) as r(
    merchant_id uuid, key text, own_key text, payment_id uuid, entry_id uuid, own_id uuid,
    psp_key uuid, own_psp_key uuid, owner_token uuid, fingerprint_version smallint,
    fingerprint bytea, psp text, request jsonb)
), free as (
  select a.* from asked a
  where (select true from journal_entries o
    where o.merchant_id = a.merchant_id and o.idempotency_key = a.own_key limit 1) is null
), closed as (
  update journal_entries e set outcome_source = 'OPERATOR', reason = 'cancelled'
  from free f
  where e.merchant_id = f.merchant_id and e.idempotency_key = f.key
    and e.operation in ('CHARGE', 'AUTHORIZE') and e.state = 'FAILED'
    and e.outcome_source = 'NOT_SENT'
  returning e.payment_id
), placed as (
  insert into journal_entries (${COLUMNS})
  select ${values('entry_id', 'f.payment_id', 'key', 'null::jsonb', 'psp_key')}
  from free f
  on conflict do nothing
  returning payment_id
), own as (
  insert into journal_entries (${COLUMNS})
  select ${values('own_id', 'o.payment_id', 'own_key', 'f.request', 'own_psp_key')}
  from free f cross join (
    select payment_id from closed union all select payment_id from placed) o
), hidden as (
  insert into payments (merchant_id, id, amount_minor, currency, status, payment_method)
  select f.merchant_id, o.payment_id, 0, 'XXX', 'NOT_SENT', '' from free f cross join placed o
)
select now() as at from closed union all select now() from placed`;

/** The cancelling of keys in Postgres: the key's own UNIQUE decides between it and a late request. */
export class PostgresCancels implements CancelJournal {
  readonly #database: Database;
  readonly #budgetMs: number;

  constructor(database: Database, budgetMs: number) {
    this.#database = database;
    this.#budgetMs = budgetMs;
  }

  async cancel(intent: CancelIntent): Promise<CancelOpened> {
    const text = JSON.stringify([cancelRow(intent)]);
    const written = await this.#database.run(CANCEL, [text], this.#budgetMs).catch(orTaken);
    const at = written[0]?.['at'] as Date | undefined;
    if (at !== undefined) return { kind: 'cancelled', at };
    const { merchantId, key, idempotencyKey } = intent;
    const asked = [idempotencyKey, key].map((one) => ({
      merchant_id: merchantId,
      idempotency_key: one,
    }));
    const rows = await this.#database.run(READ_BY_KEY, [JSON.stringify(asked)], this.#budgetMs);
    const own = rows.find((row) => row['idempotency_key'] === idempotencyKey);
    if (own !== undefined) return { kind: 'own', ...toRecorded(own) };
    const found = rows.find((row) => row['idempotency_key'] === key);
    if (found !== undefined) return { kind: 'exists', ...toRecorded(found) };
    throw new JournalUnavailable('What stood in the way is gone; the same key may try again.');
  }
}

function cancelRow({ merchantId, key, idempotencyKey, fingerprint, psp }: CancelIntent) {
  const placed = newEntry(merchantId);
  const own = newEntry(merchantId);
  return {
    merchant_id: merchantId,
    key,
    own_key: idempotencyKey,
    payment_id: uuidV7(),
    entry_id: placed.entryId,
    own_id: own.entryId,
    psp_key: placed.pspKey,
    own_psp_key: own.pspKey,
    owner_token: randomUUID(),
    fingerprint_version: fingerprint.version,
    fingerprint: `\\x${fingerprint.digest.toString('hex')}`,
    psp,
    request: { cancels: key },
  };
}

/** Another statement took one of the keys just now: what stands there is read. */
function orTaken(error: unknown): [] {
  if (isTaken(error)) return [];
  throw error;
}
