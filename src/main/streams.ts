import type { Services, Subscriptions } from '../graphql/index.ts';
import { type Metrics, StreamEndpoint, Streams } from '../http/index.ts';
import { type Identities, PostgresLedgerReader, PostgresPaymentReader } from '../postgres/index.ts';
import type { Config } from './config.ts';
import { openBudgetMs, type openReports } from './database.ts';
import type { OpenEvents } from './events.ts';
import type { Log } from './log.ts';

export interface StreamParts {
  readonly services: Services;
  readonly subscriptions: Subscriptions;
  readonly identities: Identities;
  readonly events: OpenEvents;
  readonly reports: ReturnType<typeof openReports>;
  readonly config: Config;
  readonly metrics: Metrics;
  readonly log: Log;
}

/** Subscriptions over HTTP. They read over the connections of the events: payments have their own. */
export function openStreams(parts: StreamParts): { streams: Streams; endpoint: StreamEndpoint } {
  const { services, subscriptions, identities, events, reports, config, metrics, log } = parts;
  const streams = new Streams({
    most: config.MAX_SUBSCRIPTIONS,
    mostOfMerchant: config.MAX_SUBSCRIPTIONS_PER_MERCHANT,
    isValid: async (key) => (await identities.identify(key)) !== undefined,
  });
  metrics.watchStreams(() => streams.size);
  const budgetMs = openBudgetMs(config);
  const endpoint = new StreamEndpoint({
    subscriptions,
    streams,
    services: {
      ...services,
      reader: new PostgresPaymentReader(events.database, budgetMs),
      ledger: new PostgresLedgerReader(events.database, budgetMs, reports),
    },
    onSent: () => metrics.eventsSent.inc(),
    onBroken: (err) => log.warn({ err }, 'a stream broke off; its client will come back'),
  });
  return { streams, endpoint };
}
