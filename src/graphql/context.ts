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

/** What is read for one request is read once, and together. Each is made when it is first asked for. */
interface Loaders {
  payments?: DataLoader<string, Payment | undefined>;
  entries?: DataLoader<string, JournalEntry | undefined>;
  entriesOf?: DataLoader<EntriesOfPayment, readonly JournalEntry[], string>;
  postingsOf?: DataLoader<string, readonly Posting[]>;
  endpoints?: DataLoader<string, Endpoint | undefined>;
}

interface Asking {
  readonly services: Services;
  readonly caller: Caller | undefined;
  readonly idempotencyKeyHeader: string | undefined;
  readonly stream?: StreamRequest | undefined;
}

/** One request. */
export class Context {
  readonly services: Services;
  readonly caller: Caller | undefined;
  /** The header Idempotency-Key, unquoted, if there was one. */
  readonly idempotencyKeyHeader: string | undefined;
  /** Set where the answer is a stream. */
  readonly stream: StreamRequest | undefined;
  /** Set once the answer is a replay or a join, for the header Idempotent-Replayed. */
  replayed = false;
  /** No private member: Apollo copies the context, and a copy has none. */
  readonly loaders: Loaders = {};

  constructor({ services, caller, idempotencyKeyHeader, stream }: Asking) {
    this.services = services;
    this.caller = caller;
    this.idempotencyKeyHeader = idempotencyKeyHeader;
    this.stream = stream;
  }

  /** The caller's payments by id; undefined where there is none. */
  get payments(): DataLoader<string, Payment | undefined> {
    this.loaders.payments ??= new DataLoader((ids) =>
      this.services.reader.byIds(merchantOf(this), ids),
    );
    return this.loaders.payments;
  }

  get entries(): DataLoader<string, JournalEntry | undefined> {
    this.loaders.entries ??= new DataLoader((ids) =>
      this.services.ledger.entriesByIds(merchantOf(this), ids),
    );
    return this.loaders.entries;
  }

  /** Pages of payments' entries, gathered over the whole answer. */
  get entriesOf(): DataLoader<EntriesOfPayment, readonly JournalEntry[], string> {
    this.loaders.entriesOf ??= new DataLoader(
      (asked) => this.services.ledger.entriesOf(merchantOf(this), asked),
      { cacheKeyFn: ({ paymentId, first, after }) => `${paymentId} ${first} ${after}` },
    );
    return this.loaders.entriesOf;
  }

  get postingsOf(): DataLoader<string, readonly Posting[]> {
    this.loaders.postingsOf ??= new DataLoader((ids) =>
      this.services.ledger.postingsOf(merchantOf(this), ids),
    );
    return this.loaders.postingsOf;
  }

  get endpoints(): DataLoader<string, Endpoint | undefined> {
    this.loaders.endpoints ??= new DataLoader((ids) =>
      this.services.endpoints.byIds(merchantOf(this), ids),
    );
    return this.loaders.endpoints;
  }
}

/** @throws UNAUTHENTICATED if nobody is signed in */
export function merchantOf({ caller }: Pick<Context, 'caller'>): string {
  if (caller === undefined) throw unauthenticated();
  return caller.merchantId;
}
