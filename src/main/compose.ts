import { dirname, join } from 'node:path';
import {
  buildSchema,
  fileInPackage,
  GraphQLServer,
  type Services,
  Subscriptions,
} from '../graphql/index.ts';
import {
  GraphQLEndpoint,
  HttpServer,
  Limits,
  Metrics,
  Pages,
  WebhookEndpoint,
} from '../http/index.ts';
import type { Store } from '../idempotency/index.ts';
import {
  type Database,
  Identities,
  migrationsIn,
  openWork,
  PostgresCancels,
  PostgresInbox,
  PostgresLedgerReader,
  PostgresPaymentReader,
  whyNotReady,
} from '../postgres/index.ts';
import type { OpenPsp } from '../psp/index.ts';
import { chargesAtPsp, type DemoBooks } from './charges.ts';
import type { Config } from './config.ts';
import {
  migrationsFolder,
  openBudgetMs,
  openDatabase,
  openFollowUps,
  openJournal,
  openReports,
} from './database.ts';
import type { Parts } from './embed.ts';
import { type OpenEvents, openEvents } from './events.ts';
import { listen } from './listen.ts';
import type { Log } from './log.ts';
import { recoverWith, sweepWith } from './loops.ts';
import { openPsp } from './psp.ts';
import { sendWebhooksTo } from './simulator-webhooks.ts';
import { openStore } from './store.ts';
import { openStreams } from './streams.ts';
import type { Surroundings } from './surroundings.ts';
import { trustedDocuments } from './trusted-documents.ts';
import { webhooksOf } from './webhooks.ts';
import { openWebhooksOut, type WebhooksOut } from './webhooks-out.ts';

/** A server that listens. */
export interface Running {
  readonly url: string;
  readonly playground: string | undefined;
  readonly checkout: string | undefined;
  /** Takes no new work, lets sends finish, leaves the rest to recovery. False if the time ran out. */
  drain(): Promise<boolean>;
}

/** How long closing may take once nothing is under way, in ms. */
const CLOSE_MS = 2_000;

interface Databases {
  readonly database: Database;
  readonly reports: ReturnType<typeof openReports>;
  readonly events: OpenEvents;
  readonly webhooks: WebhooksOut;
}

/** Where everything meets: builds each room's part, wires them, and listens. */
export async function compose(config: Config, parts: Parts, log: Log): Promise<Running> {
  const metrics: Metrics = new Metrics(() => openWork(database));
  const around = { config, log, metrics };
  const database = openDatabase(config, parts.databaseUrl, (why) => {
    metrics.poolReplaced.inc();
    log.warn({ why }, 'the database pool was replaced');
  });
  const psp = await openPsp(config, parts);
  const first = await openStore(parts.redisUrl, config.NEAR_ANSWERS_MS, log);
  const reports = openReports(parts.databaseUrl);
  const events = openEvents(parts.databaseUrl, first.bell, {
    log,
    onGrown: (lines) => metrics.linesGrown.inc(lines),
  });
  const webhooks = openWebhooksOut(around, parts);
  const services = servicesOf(around, { database, reports, events, webhooks }, psp);
  const { graphql, subscriptions } = await startGraphQL(around, services, first.store, events);
  const identities = new Identities(database);
  const pages = pagesOf(config, parts, { identities, reader: services.reader });
  const streams = openStreams({
    ...around,
    services,
    subscriptions,
    identities,
    events,
    reports,
  });
  const http = httpOf(around, graphql, services, psp, database, identities, { pages, ...streams });
  const url = await listen(http, config);
  if (parts.ownSimulator) await sendWebhooksTo(url, parts, config);
  const recovery = recoverWith(around, database, services);
  const sweep = sweepWith(around, database, services);
  webhooks.start();
  return {
    url,
    playground: pages.serves('/playground') ? `${url}/playground` : undefined,
    checkout: pages.serves('/checkout') ? `${url}/checkout` : undefined,
    drain: async () => {
      const recovered = Promise.all([recovery.stop(), sweep.stop(), webhooks.stop()]);
      const whole = await http.drain(config.DRAIN_MS);
      await within(CLOSE_MS, Promise.all([recovered, events.stop(), graphql.stop(), psp.close()]));
      const databases = [database, reports.database, webhooks];
      await within(CLOSE_MS, Promise.all(databases.map((one) => one.close())));
      first.close();
      return whole;
    },
  };
}

function servicesOf(
  { config, log, metrics }: Surroundings,
  { database, reports, events, webhooks: { endpoints, desk } }: Databases,
  psp: OpenPsp,
) {
  const services: Services = {
    psp,
    journal: openJournal(config, database, () => metrics.fencedWrites.inc()),
    followUps: openFollowUps(config, database),
    cancels: new PostgresCancels(database, openBudgetMs(config)),
    reader: new PostgresPaymentReader(database, openBudgetMs(config)),
    ledger: new PostgresLedgerReader(database, openBudgetMs(config), reports),
    events: events.events,
    feed: events.feed,
    ...{ endpoints, desk },
    now: () => performance.now(),
    leaseMs: config.lockTtlMs,
    pspTimeoutMs: config.PSP_TIMEOUT_MS,
    answerTtlMs: config.ANSWER_TTL_S * 1_000,
    onUnrecorded: (err) => {
      metrics.unrecorded.inc();
      log.error({ err }, 'a PSP answer could not be written; recovery will ask again');
    },
  };
  return services;
}

async function startGraphQL(
  { config, log, metrics }: Surroundings,
  { answerTtlMs }: Services,
  store: Store,
  events: OpenEvents,
): Promise<{ graphql: GraphQLServer; subscriptions: Subscriptions }> {
  const production = config.NODE_ENV === 'production';
  const options = {
    schema: buildSchema({
      store,
      answerTtlMs,
      leaseMs: config.lockTtlMs,
      joinWaitMs: config.JOIN_WAIT_MS,
      onStoreError: () => metrics.storeErrors.inc(),
      onEnding: (outcome) => {
        metrics.answered.inc({ outcome });
        events.soon();
      },
    }),
    introspection: config.INTROSPECTION ?? !production,
    hideSuggestions: production,
    onInternalError: (err: unknown, correlationId: string) =>
      log.error({ err, correlationId }, 'internal error'),
    onRefused: (code: string) => metrics.refused.inc({ code }),
  };
  const graphql = new GraphQLServer(options);
  await graphql.start();
  return { graphql, subscriptions: new Subscriptions(options) };
}

function httpOf(
  { config, log, metrics }: Surroundings,
  graphql: GraphQLServer,
  services: Services,
  psp: OpenPsp,
  database: Database,
  identities: Identities,
  { pages, streams, endpoint: streamEndpoint }: { pages: Pages } & ReturnType<typeof openStreams>,
): HttpServer {
  const wanted = migrationsIn(migrationsFolder());
  const endpoint = new GraphQLEndpoint({
    graphql,
    services,
    streams: streamEndpoint,
    documents: trustedDocuments(config),
    limits: new Limits({ perKeyPerSecond: config.RATE_LIMIT_PER_SECOND }),
    identify: (key) => identities.identify(key),
    onRefused: (code) => metrics.refused.inc({ code }),
  });
  const inbox = new PostgresInbox(database, openBudgetMs(config));
  return new HttpServer({
    endpoint,
    webhooks: new WebhookEndpoint(webhooksOf({ ...services, psp, inbox, log, metrics })),
    metrics,
    pages,
    streams,
    whyNotReady: () => whyNotReady(database, wanted),
    onError: (err) => log.error({ err }, 'a request failed'),
  });
}

function pagesOf(config: Config, parts: Parts, books: DemoBooks): Pages {
  const { demoApiKey, simulatorUrl } = parts;
  const wanted = config.PLAYGROUND ?? config.NODE_ENV !== 'production';
  const built = (name: string) => join(dirname(fileInPackage('package.json')), 'dist', name);
  return new Pages({
    playground: wanted ? built('playground') : undefined,
    demoApiKey,
    checkout:
      demoApiKey === undefined || simulatorUrl === undefined
        ? undefined
        : {
            folder: built('checkout'),
            charges: (key) => chargesAtPsp(simulatorUrl, demoApiKey, key, books),
          },
  });
}

/** What does not end in time is left behind: the process is about to end. */
async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await Promise.race([work, late]);
  clearTimeout(timer);
}
