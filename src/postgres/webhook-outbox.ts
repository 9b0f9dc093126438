import { randomUUID } from 'node:crypto';
import type {
  Claim,
  Due,
  EndpointKey,
  Outbox,
  Outcome,
  Recorded,
  SealedSecret,
} from '../webhooks/index.ts';
import type { Database, Row } from './connect.ts';
import { CLAIM, DUE, FILL, FREE, RECORD, SCHEDULE, SWEEP } from './webhook-outbox-statements.ts';

/** The way of deliveries in Postgres. It wants connections of its own: payments do not wait for it. */
export class PostgresOutbox implements Outbox {
  readonly #database: Database;
  readonly #budgetMs: number;

  /** @param budgetMs the most one statement may take with its repetitions */
  constructor(database: Database, budgetMs: number) {
    this.#database = database;
    this.#budgetMs = budgetMs;
  }

  async claim({ merchantId, id }: EndpointKey, leaseMs: number): Promise<Claim | undefined> {
    const token = randomUUID();
    const [row] = await this.#run(CLAIM, [merchantId, id, token, leaseMs]);
    return row === undefined ? undefined : { ...toClaim(row), token };
  }

  async fill({ merchantId, id, token }: Claim, limit: number): Promise<void> {
    await this.#run(FILL, [merchantId, id, token, limit]);
  }

  async due({ merchantId, id }: Claim, limit: number): Promise<readonly Due[]> {
    return (await this.#run(DUE, [merchantId, id, limit])).map(toDue);
  }

  async record({ merchantId, endpointId, id, attempts }: Due, outcome: Outcome): Promise<Recorded> {
    const asked = {
      ...{ merchant_id: merchantId, endpoint_id: endpointId, id, attempts },
      attempt_id: outcome.attemptId,
      result: outcome.result,
      http_status: outcome.httpStatus,
      duration_ms: outcome.durationMs,
      response: outcome.response,
      next_in_ms: outcome.nextInMs,
      pause_ms: outcome.pauseMs,
      is_gone: outcome.isGone,
    };
    const [row] = await this.#run(RECORD, [JSON.stringify(asked)]);
    if (row === undefined) return 'stale';
    const reason = row['disabled_reason'];
    return reason === 'GONE' || reason === 'FAILING' ? reason : 'recorded';
  }

  async free({ merchantId, id, token }: Claim): Promise<void> {
    await this.#run(FREE, [merchantId, id, token]);
  }

  async schedule({ merchantId, id }: EndpointKey): Promise<void> {
    await this.#run(SCHEDULE, [merchantId, id]);
  }

  async sweep(): Promise<{ live: number; woken: number }> {
    const [row] = await this.#run(SWEEP, []);
    return { live: row?.['live'] as number, woken: row?.['woken'] as number };
  }

  #run(text: string, parameters: readonly unknown[]): Promise<Row[]> {
    return this.#database.run(text, parameters, this.#budgetMs);
  }
}

function toClaim(row: Row): Omit<Claim, 'token'> {
  const secrets = (row['secrets'] ?? []) as readonly { id: string; sealed: string }[];
  return {
    merchantId: row['merchant_id'] as string,
    id: row['id'] as string,
    url: row['url'] as string,
    failures: row['failures'] as number,
    secrets: secrets.map(
      ({ id, sealed }): SealedSecret => ({ id, sealed: Buffer.from(sealed, 'hex') }),
    ),
  };
}

function toDue(row: Row): Due {
  return {
    merchantId: row['merchant_id'] as string,
    endpointId: row['endpoint_id'] as string,
    id: row['id'] as string,
    type: row['type'] as string,
    attempts: row['attempts'] as number,
    tries: row['tries'] as number,
    createdAt: row['created_at'] as Date,
    happened:
      row['happened_at'] === null
        ? undefined
        : {
            at: row['happened_at'] as Date,
            paymentId: row['payment_id'] as string,
            paymentVersion: row['payment_version'] as number,
            entryId: row['entry_id'] as string,
            operation: row['operation'] as string,
            amountMinor: row['amount_minor'] as number,
            currency: row['currency'] as string,
            transactionId: row['transaction_id'] as string | null,
          },
  };
}
