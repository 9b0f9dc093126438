import type {
  Attempt,
  Changed,
  Created,
  Delivery,
  DeliveryKey,
  Endpoint,
  EndpointChange,
  EndpointKey,
  Endpoints,
  NewEndpoint,
  Rotated,
  SealedSecret,
  Slice,
} from '../webhooks/index.ts';
import type { Database, Row } from './connect.ts';
import { StatementRefused } from './statement-refused.ts';
import {
  BY_IDS,
  BY_URL,
  CHANGE,
  CREATE,
  MOST_ENDPOINTS,
  MOST_SECRETS,
  PING_AT_ONCE,
  REDELIVER,
  REMOVE,
  ROTATE,
} from './webhook-endpoint-statements.ts';
import {
  ATTEMPT_COLUMNS,
  DELIVERY_COLUMNS,
  ENDPOINT_COLUMNS,
  toAttempt,
  toDelivery,
  toEndpoint,
} from './webhook-rows.ts';

const PAGE = `
select ${ENDPOINT_COLUMNS} from webhook_endpoints e
where e.merchant_id = $1::uuid and e.deleted_at is null and ($2::uuid is null or e.id < $2::uuid)
order by e.id desc limit $3::integer`;

const DELIVERY = `
select ${DELIVERY_COLUMNS} from webhook_deliveries d
join webhook_endpoints e on e.merchant_id = d.merchant_id and e.id = d.endpoint_id
where d.merchant_id = $1::uuid and d.endpoint_id = $2::uuid and d.id = $3::uuid
  and e.deleted_at is null`;

const DELIVERIES = `
select ${DELIVERY_COLUMNS} from webhook_deliveries d
where d.merchant_id = $1::uuid and d.endpoint_id = $2::uuid and ($3::uuid is null or d.id < $3::uuid)
order by d.id desc limit $4::integer`;

const ATTEMPTS = `
select ${ATTEMPT_COLUMNS} from webhook_attempts a
where a.merchant_id = $1::uuid and a.endpoint_id = $2::uuid and a.delivery_id = $3::uuid
  and ($4::uuid is null or a.number < (
    select b.number from webhook_attempts b where b.merchant_id = $1::uuid and b.id = $4::uuid))
order by a.number desc limit $5::integer`;

const URL_TAKEN = 'webhook_endpoints_url';

/** Endpoints of merchants in Postgres. Not on the payment path. */
export class PostgresEndpoints implements Endpoints {
  readonly #database: Database;
  readonly #budgetMs: number;

  /** @param budgetMs the most one statement may take with its repetitions */
  constructor(database: Database, budgetMs: number) {
    this.#database = database;
    this.#budgetMs = budgetMs;
  }

  async create(id: string, endpoint: NewEndpoint, secret: SealedSecret): Promise<Created> {
    const { merchantId, url, description, eventTypes } = endpoint;
    const asked = {
      ...{ merchant_id: merchantId, id, url, description, event_types: eventTypes },
      ...secretColumns(secret),
    };
    const [made] = await this.#run(CREATE, [JSON.stringify(asked)]);
    if (made !== undefined) return { kind: 'created', endpoint: toEndpoint(made) };
    const there = await this.#byUrl(merchantId, url);
    if (there === undefined) return { kind: 'too-many', most: MOST_ENDPOINTS };
    // Our own, if the reply to the first run of the statement was lost.
    if (there.id === id) return { kind: 'created', endpoint: there };
    return { kind: 'url-taken', id: there.id };
  }

  async change({ merchantId, id }: EndpointKey, change: EndpointChange): Promise<Changed> {
    const { url, description, eventTypes, enabled } = change;
    const asked = {
      ...{ merchant_id: merchantId, id, url, enabled },
      ...{ description, has_description: description !== undefined },
      ...{ event_types: eventTypes, has_event_types: eventTypes !== undefined },
    };
    try {
      const [row] = await this.#run(CHANGE, [JSON.stringify(asked)]);
      return row === undefined ? { kind: 'none' } : { kind: 'changed', endpoint: toEndpoint(row) };
    } catch (error) {
      if (!(error instanceof StatementRefused) || error.constraint !== URL_TAKEN) throw error;
      const there = await this.#byUrl(merchantId, url ?? '');
      return { kind: 'url-taken', id: there?.id ?? id };
    }
  }

  async remove({ merchantId, id }: EndpointKey): Promise<boolean> {
    return (await this.#run(REMOVE, [merchantId, id])).length > 0;
  }

  async rotate(
    { merchantId, id }: EndpointKey,
    secret: SealedSecret,
    overlapMs: number,
  ): Promise<Rotated> {
    const asked = { merchant_id: merchantId, id, ...secretColumns(secret), overlap_ms: overlapMs };
    const [row] = await this.#run(ROTATE, [JSON.stringify(asked)]);
    if (row === undefined) return { kind: 'none' };
    if (row['fit'] !== true) return { kind: 'too-many', most: MOST_SECRETS };
    const previousUntil = row['previous_until'] as Date | null;
    return { kind: 'rotated', endpoint: toEndpoint(row), previousUntil };
  }

  async byIds(merchantId: string, ids: readonly string[]): Promise<(Endpoint | undefined)[]> {
    const rows = await this.#run(BY_IDS, [merchantId, JSON.stringify(ids)]);
    const found = new Map(rows.map((row) => [row['id'], toEndpoint(row)]));
    return ids.map((id) => found.get(id));
  }

  async page(merchantId: string, { first, after }: Slice): Promise<readonly Endpoint[]> {
    return (await this.#run(PAGE, [merchantId, after ?? null, first])).map(toEndpoint);
  }

  async delivery({ merchantId, endpointId, id }: DeliveryKey): Promise<Delivery | undefined> {
    return (await this.#run(DELIVERY, [merchantId, endpointId, id])).map(toDelivery)[0];
  }

  async deliveries(
    { merchantId, id }: EndpointKey,
    { first, after }: Slice,
  ): Promise<readonly Delivery[]> {
    return (await this.#run(DELIVERIES, [merchantId, id, after ?? null, first])).map(toDelivery);
  }

  async attempts(
    { merchantId, endpointId, id }: DeliveryKey,
    { first, after }: Slice,
  ): Promise<readonly Attempt[]> {
    const rows = await this.#run(ATTEMPTS, [merchantId, endpointId, id, after ?? null, first]);
    return rows.map(toAttempt);
  }

  async ping({ merchantId, id }: EndpointKey, pingId: string): Promise<Delivery | undefined> {
    return (await this.#run(PING_AT_ONCE, [merchantId, id, pingId])).map(toDelivery)[0];
  }

  async redeliver({ merchantId, endpointId, id }: DeliveryKey): Promise<Delivery | undefined> {
    return (await this.#run(REDELIVER, [merchantId, endpointId, id])).map(toDelivery)[0];
  }

  async #byUrl(merchantId: string, url: string): Promise<Endpoint | undefined> {
    return (await this.#run(BY_URL, [merchantId, url])).map(toEndpoint)[0];
  }

  #run(text: string, parameters: readonly unknown[]): Promise<Row[]> {
    return this.#database.run(text, parameters, this.#budgetMs);
  }
}

const secretColumns = ({ id, sealed }: SealedSecret) => ({
  secret_id: id,
  sealed: sealed.toString('hex'),
});
