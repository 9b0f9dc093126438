import { validate as isUuid } from 'uuid';
import {
  JournalUnavailable,
  type Payment,
  type PaymentLookup,
  type PaymentPageRequest,
  type PaymentReader,
  type Recorded,
} from '../payments/index.ts';
import { Batch } from './batch.ts';
import type { Database } from './connect.ts';
import { FREE_STATUSES } from './free-statuses.ts';
import { orUnavailable } from './not-run.ts';
import { pageStatement } from './payment-pages.ts';
import { ENTRY_COLUMNS, PAYMENT_COLUMNS, toPayment, toRecorded } from './rows.ts';

const SHOWN = `p.status <> 'NOT_SENT'`;
const OF_MERCHANT = `select ${PAYMENT_COLUMNS} from payments p where p.merchant_id = $1::uuid and ${SHOWN}`;
const FREE = FREE_STATUSES.map((status) => `'${status}'`).join(', ');

const BY_IDS = `
select ${PAYMENT_COLUMNS}
from json_to_recordset($1::text::json) as r(merchant_id uuid, id uuid)
join payments p using (merchant_id, id) where ${SHOWN}`;

const BY_ENTRY = (column: string) => `${OF_MERCHANT} and p.id in (
  select e.payment_id from journal_entries e where e.merchant_id = $1::uuid and e.${column} = $2)
  limit 1`;

const FIND: Readonly<Record<PaymentLookup['by'], string>> = {
  id: `${OF_MERCHANT} and p.id = $2::uuid`,
  transactionId: `${OF_MERCHANT} and p.transaction_id = $2
    order by p.status in (${FREE}), p.id desc limit 1`,
  idempotencyKey: BY_ENTRY('idempotency_key'),
  pspReference: BY_ENTRY('psp_reference'),
};

const ENTRY_BY_KEY = `
select ${ENTRY_COLUMNS}, ${PAYMENT_COLUMNS} from journal_entries e
join payments p on p.merchant_id = e.merchant_id and p.id = e.payment_id
where e.merchant_id = $1::uuid and e.idempotency_key = $2`;

/** No text in Postgres has it. */
const NUL = '\0';

interface Wanted {
  readonly merchantId: string;
  readonly id: string;
}

/** Reads from the primary. Payments by id are gathered over all requests into one statement. */
export class PostgresPaymentReader implements PaymentReader {
  readonly #database: Database;
  readonly #budgetMs: number;
  readonly #byId: Batch<Wanted, Payment | undefined>;

  constructor(database: Database, budgetMs: number) {
    this.#database = database;
    this.#budgetMs = budgetMs;
    this.#byId = new Batch({
      run: (wanted, ms) => this.#readAll(wanted, ms),
      budgetMs,
      maxItems: 1_000,
      maxWaiting: 50_000,
      slots: 2,
      concernsAll: (error) => error instanceof JournalUnavailable,
    });
  }

  byIds(merchantId: string, ids: readonly string[]): Promise<readonly (Payment | undefined)[]> {
    return Promise.all(
      ids.map((id) =>
        isUuid(id)
          ? orUnavailable(this.#byId.add({ merchantId, id: id.toLowerCase() }))
          : undefined,
      ),
    );
  }

  async find(merchantId: string, lookup: PaymentLookup): Promise<Payment | undefined> {
    if (lookup.by === 'id' ? !isUuid(lookup.value) : lookup.value.includes(NUL)) return undefined;
    const rows = await this.#run(FIND[lookup.by], [merchantId, lookup.value]);
    return rows.map(toPayment)[0];
  }

  async page(merchantId: string, request: PaymentPageRequest): Promise<readonly Payment[]> {
    const { text, parameters } = pageStatement(merchantId, request);
    return (await this.#run(text, parameters)).map(toPayment);
  }

  async entryByKey(merchantId: string, key: string): Promise<Recorded | undefined> {
    const rows = await this.#run(ENTRY_BY_KEY, [merchantId, key]);
    return rows.map(toRecorded)[0];
  }

  #run(text: string, parameters: readonly unknown[]) {
    return this.#database.run(text, parameters, this.#budgetMs);
  }

  async #readAll(wanted: readonly Wanted[], budgetMs: number): Promise<(Payment | undefined)[]> {
    // Many requests may ask for one payment: after a storm, most do.
    const distinct = new Map(wanted.map((one) => [`${one.merchantId} ${one.id}`, one]));
    const asked = [...distinct.values()].map(({ merchantId, id }) => ({
      merchant_id: merchantId,
      id,
    }));
    const text = JSON.stringify(asked);
    const rows = await this.#database.run(BY_IDS, [text], budgetMs);
    const payments = rows.map(toPayment);
    const found = new Map(
      payments.map((payment) => [`${payment.merchantId} ${payment.id}`, payment]),
    );
    return wanted.map(({ merchantId, id }) => found.get(`${merchantId} ${id}`));
  }
}
