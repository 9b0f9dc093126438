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
  PostgresExpiries,
  PostgresInbox,
  PostgresLedgerReader,
  PostgresPaymentReader,
  whyNotReady,
} from '../postgres/index.ts';
import type { OpenPsp } from '../psp/index.ts';
import { type Loop, startRecovery, startSweep } from '../workers/index.ts';
import { alertOf, LATE_ALERT } from './alerts.ts';
import { chargesAtPsp, type DemoBooks } from './charges.ts';
import type { Config } from './config.ts';
import {
  migrationsFolder,
  openBudgetMs,
  openDatabase,
  openFollowUps,
  openJournal,
  openReports,
  openReversals,
} from './database.ts';
import type { Parts } from './embed.ts';
import { type OpenEvents, openEvents } from './events.ts';
import { listen } from './listen.ts';
import type { Log } from './log.ts';
import { openPsp } from './psp.ts';
import { sendWebhooksTo } from './simulator-webhooks.ts';
import { openStore } from './store.ts';
import { openStreams } from './streams.ts';
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

const RECOVERY = { everyMs: 1_000, limit: 100 } as const;
const SWEEP = { everyMs: 2_000, limit: 50 } as const;
/** How long closing may take once nothing is under way, in ms. */
const CLOSE_MS = 2_000;

/** What each part is told of the environment and may report to. */
interface Surroundings {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
}

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

function recoverWith(
  { config, log, metrics }: Surroundings,
  database: Database,
  { journal, psp }: Services,
): Loop {
  return startRecovery({
    journal,
    psp,
    reversals: openReversals(config, database),
    ...RECOVERY,
    onReport: ({ taken, ...fates }) => {
      metrics.takeOvers.inc(taken);
      for (const [fate, count] of Object.entries(fates)) metrics.recovered.inc({ fate }, count);
      log.info({ report: { taken, ...fates } }, 'recovery');
    },
    onSettled: (_, ageMs) => metrics.recoverySeconds.observe(ageMs / 1_000),
    onLate: (reversal) => {
      metrics.lateExecutions.inc({ psp: psp.name });
      log.error(alertOf(reversal), LATE_ALERT);
    },
    onUnrecorded: (err) =>
      log.warn({ err }, 'an entry stays in doubt; it will be asked about again'),
    onError: (err) => log.warn({ err }, 'recovery will try again'),
  });
}

function sweepWith({ config, log }: Surroundings, database: Database, { psp }: Services): Loop {
  return startSweep({
    psp,
    expiries: new PostgresExpiries(database, openBudgetMs(config)),
    ...SWEEP,
    onError: (err) => log.warn({ err }, 'expired authorisations will be looked for again'),
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
