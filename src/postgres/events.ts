import type { Events, KnownVersion, LineEnd, PaymentEvent } from '../payments/index.ts';
import type { Database, Row } from './connect.ts';

export interface EventsOptions {
  /** The most one statement may take with its repetitions, in ms. */
  readonly budgetMs: number;
  /** Told which lines a step has made longer; it must not throw. */
  readonly onNumbered: (ends: readonly LineEnd[]) => void;
}

const NUMBER = `select merchant as merchant_id, last_position::float8 as position from semel_number_events()`;

const AFTER = `
select p.merchant_id, p.position::float8 as position, e.id, e.type, e.payment_id, e.payment_version,
  e.entry_id, e.created_at
from (
  select o.merchant_id, o.position, o.event_id from outbox_positions o
  where o.merchant_id = $1::uuid and o.position > $2::bigint
  order by o.position limit $3::integer) p
join outbox_events e on e.merchant_id = p.merchant_id and e.id = p.event_id
order by p.position`;

const LASTS = `
select r.merchant_id::uuid as merchant_id, coalesce((
  select p.position from outbox_positions p where p.merchant_id = r.merchant_id::uuid
  order by p.position desc limit 1), 0)::float8 as position
from json_array_elements_text($1::text::json) as r(merchant_id)`;

const CHANGED = `
select r.place from json_to_recordset($1::text::json)
  as r(place integer, merchant_id uuid, id uuid, version integer)
join payments p on p.merchant_id = r.merchant_id and p.id = r.id
where p.version > r.version`;

/** The outbox in Postgres. It wants connections of its own: no reader may make a payment wait. */
export class PostgresEvents implements Events {
  readonly #database: Database;
  readonly #options: EventsOptions;
  #step: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  constructor(database: Database, options: EventsOptions) {
    this.#database = database;
    this.#options = options;
  }

  /** A step that runs already may have looked too early: who asks meanwhile shares the next one. */
  number(): Promise<void> {
    this.#next ??= this.#step
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        this.#step = this.#number();
        return this.#step;
      });
    return this.#next;
  }

  async after(merchantId: string, position: number, limit: number) {
    const rows = await this.#run(AFTER, [merchantId, position, limit]);
    return rows.map(toEvent);
  }

  async last(merchantId: string): Promise<number> {
    return (await this.lasts([merchantId]))[0]?.position ?? 0;
  }

  async lasts(merchantIds: readonly string[]): Promise<readonly LineEnd[]> {
    return (await this.#run(LASTS, [JSON.stringify(merchantIds)])).map(toEnd);
  }

  async changed(known: readonly KnownVersion[]): Promise<readonly KnownVersion[]> {
    const asked = known.map(({ merchantId, id, version }, place) => ({
      place,
      merchant_id: merchantId,
      id,
      version,
    }));
    const rows = await this.#run(CHANGED, [JSON.stringify(asked)]);
    return rows.map((row) => known[row['place'] as number] as KnownVersion);
  }

  async #number(): Promise<void> {
    const rows = await this.#run(NUMBER, []);
    if (rows.length > 0) this.#options.onNumbered(rows.map(toEnd));
  }

  #run(text: string, parameters: readonly unknown[]): Promise<Row[]> {
    return this.#database.run(text, parameters, this.#options.budgetMs);
  }
}

const toEnd = (row: Row): LineEnd => ({
  merchantId: row['merchant_id'] as string,
  position: row['position'] as number,
});

const toEvent = (row: Row): PaymentEvent => ({
  ...toEnd(row),
  id: row['id'] as string,
  type: row['type'] as string,
  paymentId: row['payment_id'] as string,
  paymentVersion: row['payment_version'] as number,
  entryId: row['entry_id'] as string,
  createdAt: row['created_at'] as Date,
});
