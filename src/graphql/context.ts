import DataLoader from 'dataloader';
import type {
  CancelDeps,
  EntriesOfPayment,
  EventFeed,
  Events,
  JournalEntry,
  LedgerReader,
  Payment,
  PaymentReader,
  Posting,
} from '../payments/index.ts';
import type { Desk, Endpoint, Endpoints } from '../webhooks/index.ts';
import { unauthenticated } from './refusals.ts';

/** The caller, as its credentials say. */
export interface Caller {
  readonly merchantId: string;
  readonly scopes: ReadonlySet<string>;
}

/** What every resolver may use; the same for all requests. */
export interface Services extends CancelDeps {
  readonly reader: PaymentReader;
  readonly ledger: LedgerReader;
  readonly events: Events;
  readonly feed: EventFeed;
  /** Webhook endpoints and their deliveries, to be read. */
  readonly endpoints: Endpoints;
  /** What merchants may do about them; undefined where the server has no key for their secrets. */
  readonly desk: Desk | undefined;
  /** How long answers are kept for quick replays, in ms. */
  readonly answerTtlMs: number;
}

/** What a stream knows beyond its operation. */
export interface StreamRequest {
  /** Aborted when nobody reads any longer. */
  readonly signal: AbortSignal;
  /** The header Last-Event-ID: the id of the last message that the client has had. */
  readonly lastEventId: string | undefined;
}

/** One request. */
export interface Context {
  readonly services: Services;
  readonly caller: Caller | undefined;
  /** The header Idempotency-Key, unquoted, if there was one. */
  readonly idempotencyKeyHeader: string | undefined;
  readonly correlationId: string;
  /** Set where the answer is a stream. */
  readonly stream: StreamRequest | undefined;
  /** The caller's payments by id; undefined where there is none. */
  readonly payments: DataLoader<string, Payment | undefined>;
  readonly entries: DataLoader<string, JournalEntry | undefined>;
  readonly endpoints: DataLoader<string, Endpoint | undefined>;
  /** Pages of payments' entries, and entries' postings, gathered over the whole answer. */
  readonly entriesOf: DataLoader<EntriesOfPayment, readonly JournalEntry[], string>;
  readonly postingsOf: DataLoader<string, readonly Posting[]>;
  /** Set once the answer is a replay or a join, for the header Idempotent-Replayed. */
  replayed: boolean;
}

export function newContext(
  request: Pick<Context, 'services' | 'caller' | 'idempotencyKeyHeader' | 'correlationId'> &
    Partial<Pick<Context, 'stream'>>,
): Context {
  const { reader, ledger, endpoints } = request.services;
  return {
    stream: undefined,
    ...request,
    replayed: false,
    payments: new DataLoader((ids) => reader.byIds(merchantOf(request), ids)),
    entries: new DataLoader((ids) => ledger.entriesByIds(merchantOf(request), ids)),
    endpoints: new DataLoader((ids) => endpoints.byIds(merchantOf(request), ids)),
    entriesOf: new DataLoader((asked) => ledger.entriesOf(merchantOf(request), asked), {
      cacheKeyFn: ({ paymentId, first, after }) => `${paymentId} ${first} ${after}`,
    }),
    postingsOf: new DataLoader((ids) => ledger.postingsOf(merchantOf(request), ids)),
  };
}

/** @throws UNAUTHENTICATED if nobody is signed in */
export function merchantOf({ caller }: Pick<Context, 'caller'>): string {
  if (caller === undefined) throw unauthenticated();
  return caller.merchantId;
}
