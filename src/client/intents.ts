import { type Again, conclude, rejected, unknown } from './conclude.ts';
import { type Attempt, converse, type Standing } from './converse.ts';
import { Flights } from './flights.ts';
import type { AnyOperation } from './operation.ts';
import type { Outcome, Problem } from './outcome.ts';
import { randomKey } from './random-key.ts';
import { type IntentRecord, isFinal, plan } from './record.ts';
import type { RetryPolicy } from './retry.ts';
import { type IntentStore, MAX_AGE_MS } from './store.ts';
import { StoreFailure } from './sturdy.ts';
import type { GraphQLBody, Transport } from './wire.ts';

type Result = Outcome<unknown, Problem>;

/** An intent: where it is written down, and who is told of its tries. */
export interface Place {
  readonly operation: AnyOperation;
  readonly scope: string;
  readonly place: string;
  /** The caller's own key. */
  readonly fixedKey: string | undefined;
  readonly tell: (event: Attempt) => void;
}

/** A call of an intent: its parameters, and how they are sent. */
export interface Job extends Place {
  readonly variables: Readonly<Record<string, unknown>>;
  readonly paramsHash: string;
  readonly transport: Transport;
  /** When the caller first asked, epoch ms. */
  readonly askedAt: number;
}

export interface IntentsOptions {
  readonly store: IntentStore;
  readonly policy: RetryPolicy;
  /** For look-ups. */
  readonly transport: Transport;
}

/** One caller's turn at an intent. */
interface Turn {
  readonly signal: AbortSignal;
  readonly again: Again<unknown, Problem>;
}

/** The GraphQL answers behind outcomes, for the links of other clients, which pass answers on. */
export const answers = new WeakMap<object, GraphQLBody>();

/** How long a try that went unanswered may still be under way after its call has ended. */
const LATE_MS = 120_000;

/** Carries intents through: write down, send, write down what became of it. */
export class Intents {
  readonly #options: IntentsOptions;
  readonly #flights = new Flights<Result>();
  /** Parameters are never written down, but this page still has its own. */
  readonly #jobs = new Map<string, Job>();

  constructor(options: IntentsOptions) {
    this.#options = options;
  }

  /** Does the intent, or finds out that it was done. */
  run(job: Job, caller?: AbortSignal): Promise<Result> {
    const at = { key: job.fixedKey ?? '', createdAt: job.askedAt, attempts: 0 };
    const again = (next?: AbortSignal) => this.run(job, next);
    return this.#flights.join(
      job.place + job.paramsHash,
      caller,
      (signal) => this.#exclusive(job, () => this.#inTurn(job, { signal, again }, at)),
      (reason) => unknown(at, reason, again),
    );
  }

  /** Finds out what became of an intent; undefined if there is nothing to find out. */
  async resume(intent: Place, caller?: AbortSignal): Promise<Result | undefined> {
    const record = await this.#options.store.read(intent.place);
    if (record === undefined || record.phase === 'minted') return undefined;
    const first = this.#jobs.get(intent.place);
    if (!intent.operation.lookup && first?.paramsHash === record.paramsHash) {
      return this.run(first, caller);
    }
    const again = (next?: AbortSignal) => this.#settle(intent, next);
    return this.#flights.join(
      intent.place,
      caller,
      (signal) => this.#exclusive(intent, () => this.#lookUp(intent, record, { signal, again })),
      (reason) => unknown(record, reason, again),
    );
  }

  async #settle(intent: Place, signal: AbortSignal | undefined): Promise<Result> {
    return (await this.resume(intent, signal)) ?? rejected('', 'NOTHING_OPEN', 'Nothing is open.');
  }

  async #exclusive({ place }: Place, work: () => Promise<Result>): Promise<Result> {
    try {
      return await this.#options.store.exclusive(place, work);
    } catch (error) {
      if (error instanceof StoreFailure)
        return rejected('', 'STORE_UNAVAILABLE', 'Nothing was sent.');
      throw error;
    }
  }

  /** The plot: read, plan, write down, send, conclude. A lost race for the record starts it over. */
  async #inTurn(job: Job, turn: Turn, at: Parameters<typeof unknown>[0]): Promise<Result> {
    const { store } = this.#options;
    for (let lookedUp = false; ; ) {
      const found = await store.read(job.place);
      Object.assign(at, found);
      if (turn.signal.aborted) return unknown(at, turn.signal.reason, turn.again);
      const next = plan(found, job, Date.now(), store.maxAgeMs ?? MAX_AGE_MS);
      if (found && next === 'refuse') {
        return rejected(found.key, 'SCOPE_SETTLED', 'Settled before, with other parameters.');
      }
      if (found && next === 'block') {
        const settleFirst = (signal?: AbortSignal) => this.#settle(job, signal);
        return { kind: 'blocked', unsettledKey: found.key, settleFirst };
      }
      if (found && next === 'lookUp' && !lookedUp) {
        const end = await this.#lookUp(job, found, turn);
        if (end.kind !== 'rejected') return end;
        lookedUp = true;
        continue;
      }
      const sent = await this.#writeDown(job, found, next === 'mint');
      if (sent === undefined) continue;
      Object.assign(at, sent);
      this.#jobs.set(job.place, job);
      return this.#ask(job, sent, standingOf(next === 'mint' ? undefined : found), turn, job);
    }
  }

  /** Before the first byte leaves. @returns undefined if somebody else was faster */
  async #writeDown(
    { operation, place, paramsHash, fixedKey }: Job,
    found: IntentRecord | undefined,
    fresh: boolean,
  ): Promise<IntentRecord | undefined> {
    const { store } = this.#options;
    const now = Date.now();
    let record = found;
    if (!record || fresh) {
      const key = fixedKey ?? randomKey();
      const times = { createdAt: now, changedAt: now, attempts: 0 };
      record = { operation: operation.name, key, paramsHash, phase: 'minted', ...times };
      if (!(await store.swap(place, found, record))) return undefined;
    }
    // What is known to be done stays so while its answer is asked for again.
    if (isFinal(record)) return record;
    const attempts = record.attempts + 1;
    const sent: IntentRecord = {
      ...record,
      paramsHash,
      phase: 'sent',
      changedAt: now,
      attempts,
    };
    return (await store.swap(place, record, sent)) ? sent : undefined;
  }

  /** Asks about the key; nothing is done by it. */
  async #lookUp(intent: Place, record: IntentRecord, turn: Turn): Promise<Result> {
    if (intent.operation.lookup) return this.#ask(intent, record, standingOf(record), turn);
    const cause = new Error('No look-up: run it as at first.');
    return unknown(record, cause, turn.again);
  }

  /** Sends the job, or else the look-up, and writes down what that came to. */
  async #ask(
    { operation, scope, place, tell }: Place,
    record: IntentRecord,
    standing: Standing,
    { signal, again }: Turn,
    job?: Job,
  ): Promise<Result> {
    const { policy, transport } = this.#options;
    const request = (!job && operation.lookup) || operation;
    const { key } = record;
    const word = await converse({
      request,
      variables: { ...job?.variables, [request.key]: key },
      transport: job?.transport ?? transport,
      policy,
      standing,
      lookUp: !job,
      signal,
      tell: (event) => tell({ scope, operation: operation.name, key, ...event }),
    });
    const attempts = record.attempts + (job ? word.attempts - 1 : 0);
    const asked = { ...record, attempts };
    const [phase, outcome] = conclude(asked, word, signal.aborted && signal, again);
    const changedAt = Date.now();
    const lateUntil = word.late ? changedAt + LATE_MS : record.lateUntil;
    await this.#writeEnd(place, { ...asked, phase, changedAt, lateUntil });
    if (word.body) answers.set(outcome, word.body);
    return outcome;
  }

  /**
   * Whatever hinders the writing takes nothing from the outcome: the record then says less than is
   * known, and the next call asks again with the same key.
   */
  async #writeEnd(place: string, next: IntentRecord): Promise<void> {
    const { store } = this.#options;
    try {
      for (;;) {
        const found = await store.read(place);
        // Who waited for a turn may have read the record before it went on to something else.
        const isOther = found?.paramsHash !== next.paramsHash || found.key !== next.key;
        if (found && (isFinal(found) || isOther)) return;
        if (await store.swap(place, found, next)) return;
      }
    } catch {
      // The failure has been reported (see `sturdy.ts`).
    }
  }
}

function standingOf(record: IntentRecord | undefined): Standing {
  if (record === undefined || record.phase === 'minted') return 'none';
  return record.phase === 'notSent' ? 'notSent' : 'lost';
}
