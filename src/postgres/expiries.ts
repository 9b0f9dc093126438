import type { Expiries, Recorded } from '../payments/index.ts';
import type { Database } from './connect.ts';
import { uuidV7 } from './ids.ts';
import { ENTRY_COLUMNS, PAYMENT_COLUMNS, toRecorded } from './rows.ts';

const IDLE = `p.status = 'AUTHORIZED' and not p.void_reserved
  and p.captured_minor + p.capture_reserved_minor = 0`;

const DUE = `
select ${ENTRY_COLUMNS}, ${PAYMENT_COLUMNS} from payments p
join journal_entries e on e.merchant_id = p.merchant_id and e.payment_id = p.id
where p.authorized_until <= clock_timestamp() and p.psp = $2 and ${IDLE}
  and e.operation = 'AUTHORIZE' and e.state = 'SUCCEEDED'
order by p.authorized_until limit $1::integer`;

const EXPIRE = `
with expired as (
  update payments p
  set status = 'EXPIRED', version = p.version + 1, updated_at = clock_timestamp()
  where p.merchant_id = $1::uuid and p.id = $2::uuid and ${IDLE}
  returning p.merchant_id, p.id, p.version
), noted as (
  insert into outbox_events (merchant_id, id, payment_id, entry_id, type, payment_version)
  select merchant_id, $4::uuid, id, $3::uuid, 'authorize.expired', version from expired
)
select id from expired`;

const POSTPONE = `
update payments p set authorized_until = $3::timestamptz
where p.merchant_id = $1::uuid and p.id = $2::uuid and ${IDLE}`;

/** Authorised payments whose time is up, in Postgres. Each step is guarded by what the payment is. */
export class PostgresExpiries implements Expiries {
  readonly #database: Database;
  readonly #budgetMs: number;

  constructor(database: Database, budgetMs: number) {
    this.#database = database;
    this.#budgetMs = budgetMs;
  }

  async due(limit: number, psp: string): Promise<readonly Recorded[]> {
    const rows = await this.#database.run(DUE, [limit, psp], this.#budgetMs);
    return rows.map(toRecorded);
  }

  async expire({ entry, payment: { merchantId, id } }: Recorded): Promise<boolean> {
    const parameters = [merchantId, id, entry.id, uuidV7()];
    return (await this.#database.run(EXPIRE, parameters, this.#budgetMs)).length > 0;
  }

  async postpone({ payment: { merchantId, id } }: Recorded, until: Date): Promise<void> {
    await this.#database.run(POSTPONE, [merchantId, id, until.toISOString()], this.#budgetMs);
  }
}
