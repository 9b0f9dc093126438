import { Database, PostgresEvents } from '../postgres/index.ts';
import type { Bell } from '../redis/index.ts';
import { Feed, startNumbering } from '../workers/index.ts';
import type { Log } from './log.ts';

const STATEMENT_MS = 2_000;
const BUDGET_MS = 3_000;
const CONNECTIONS = 2;
const EVERY_MS = 1_000;
const GATHER_MS = 100;
const PAGE_SIZE = 100;

/** Everything of this process that numbers events, and that waits for them. */
export interface OpenEvents {
  readonly events: PostgresEvents;
  readonly feed: Feed;
  /** Its connections: readers of streams may use them, so that payments do not wait for them. */
  readonly database: Database;
  /** Something has just been committed, most likely. */
  soon(): void;
  stop(): Promise<void>;
}

/** @param bell tells other processes, and is told by them; without it they look once a second */
export function openEvents(
  url: string,
  bell: Bell | undefined,
  { log, onGrown }: { readonly log: Log; readonly onGrown: (lines: number) => void },
): OpenEvents {
  const database = new Database({ url, poolMax: CONNECTIONS, statementMs: STATEMENT_MS });
  const onError = (err: unknown) => log.warn({ err }, 'events will be looked for again');
  const events = new PostgresEvents(database, {
    budgetMs: BUDGET_MS,
    onNumbered: (ends) => {
      onGrown(ends.length);
      feed.wake(ends);
      bell?.ring(ends);
    },
  });
  const feed: Feed = new Feed({ events, everyMs: EVERY_MS, pageSize: PAGE_SIZE, onError });
  bell?.onRing((ends) => feed.wake(ends));
  const numbering = startNumbering({
    events,
    everyMs: EVERY_MS,
    gatherMs: GATHER_MS,
    onError,
  });
  return {
    events,
    feed,
    database,
    soon: () => numbering.soon(),
    stop: async () => {
      await Promise.all([numbering.stop(), feed.stop()]);
      await database.close();
    },
  };
}
