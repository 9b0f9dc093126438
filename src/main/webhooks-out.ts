import { toGlobalId } from '../graphql/index.ts';
import { Database, PostgresEndpoints, PostgresOutbox } from '../postgres/index.ts';
import {
  Desk,
  mayConnect,
  type PrivateMode,
  publicNames,
  Sealer,
  Sender,
  USUAL_RETRY_DELAYS_MS,
} from '../webhooks/index.ts';
import { type Deliveries, startDeliveries } from '../workers/index.ts';
import type { Config } from './config.ts';
import type { Parts } from './embed.ts';
import type { Surroundings } from './surroundings.ts';

const STATEMENT_MS = 3_000;
const BUDGET_MS = 5_000;
const CONNECTIONS = 3;
const SWEEP_MS = 5_000;

export interface WebhooksOut {
  readonly endpoints: PostgresEndpoints;
  /** Undefined without a key: then nothing is sent from here either. */
  readonly desk: Desk | undefined;
  start(): void;
  /** Delivers no more; what may be read can be read until `close`. */
  stop(): Promise<void>;
  close(): Promise<void>;
}

/** Everything of this process that merchants are told by. Payments have their own connections. */
export function openWebhooksOut(
  { config, metrics, log }: Surroundings,
  { databaseUrl, webhookKeys }: Parts,
): WebhooksOut {
  const database = new Database({
    url: databaseUrl,
    poolMax: CONNECTIONS,
    statementMs: STATEMENT_MS,
  });
  const endpoints = new PostgresEndpoints(database, BUDGET_MS);
  if (webhookKeys.length === 0) {
    log.info('webhooks to merchants are off: WEBHOOK_SECRET_KEY is not set');
    const close = () => database.close();
    return { endpoints, desk: undefined, start: () => {}, stop: async () => {}, close };
  }
  const privateMode = privateModeOf(config);
  const sealer = new Sealer(webhookKeys);
  const sender = new Sender({
    timeoutMs: config.WEBHOOK_TIMEOUT_MS,
    mayConnect: (address) => mayConnect(address, privateMode),
    // Names of this machine and its network are known to the system only.
    resolve: privateMode === 'off' ? publicNames() : undefined,
  });
  const overlapMs = config.WEBHOOK_SECRET_OVERLAP_S * 1_000;
  let deliveries: Deliveries | undefined;
  return {
    endpoints,
    desk: new Desk({
      ...{ endpoints, sealer, privateMode, overlapMs },
      onEndpoint: () => deliveries?.soon(),
    }),
    start: () => {
      deliveries = startDeliveries({
        outbox: new PostgresOutbox(database, BUDGET_MS),
        ...{ url: databaseUrl, sender, sealer, globalId: toGlobalId, sweepMs: SWEEP_MS },
        timeoutMs: config.WEBHOOK_TIMEOUT_MS,
        retryDelaysMs: config.WEBHOOK_RETRY_DELAYS_MS ?? USUAL_RETRY_DELAYS_MS,
        onAttempt: ({ merchantId, endpointId, id, attempts }, result, recorded) => {
          metrics.webhookAttempts.inc({ result: result.toLowerCase() });
          const about = { merchantId, endpointId, id, attempt: attempts + 1, result };
          log.debug(about, 'webhook attempt');
          if (recorded !== 'GONE' && recorded !== 'FAILING') return;
          metrics.webhookDisabled.inc({ reason: recorded.toLowerCase() });
          log.warn({ ...about, reason: recorded }, 'a webhook endpoint was disabled');
        },
        onError: (err) => log.warn({ err }, 'webhooks will be delivered later'),
      });
    },
    stop: async () => deliveries?.stop(),
    close: async () => {
      await Promise.all([sender.close(), database.close()]);
    },
  };
}

/** A developer's receiver is on this machine; in production nothing there is anybody's business. */
function privateModeOf({ WEBHOOK_ALLOW_PRIVATE, NODE_ENV }: Config): PrivateMode {
  return WEBHOOK_ALLOW_PRIVATE ?? (NODE_ENV === 'production' ? 'off' : 'loopback');
}
