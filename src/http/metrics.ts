import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** What the journal holds that has no outcome yet. */
export interface OpenWork {
  readonly byState: Readonly<Record<string, number>>;
  /** Age of the oldest entry in state UNKNOWN, in seconds; 0 if there is none. */
  readonly oldestUnknownS: number;
}

const ASK_EVERY_MS = 2_000;
const RECOVERY_BUCKETS_S = [1, 2, 5, 10, 30, 60, 120, 300, 1_800, 7_200, 86_400];

/** What this process counts, in the Prometheus text format. */
export class Metrics {
  readonly registry = new Registry();
  readonly answered: Counter<'outcome'>;
  readonly refused: Counter<'code'>;
  readonly storeErrors: Counter;
  readonly poolReplaced: Counter;
  readonly unrecorded: Counter;
  readonly recovered: Counter<'fate'>;
  readonly takeOvers: Counter;
  readonly recoverySeconds: Histogram;
  readonly fencedWrites: Counter;
  readonly lateExecutions: Counter<'psp'>;
  readonly webhooks: Counter<'psp' | 'result'>;
  readonly eventsSent: Counter;
  readonly linesGrown: Counter;
  readonly webhookAttempts: Counter<'result'>;
  readonly webhookDisabled: Counter<'reason'>;

  /** @param openWork asked at each scrape */
  constructor(openWork: () => Promise<OpenWork>) {
    const registers = [this.registry];
    const counter = <Label extends string>(name: string, help: string, labelNames: Label[] = []) =>
      new Counter({ name: `semel_${name}_total`, help, labelNames, registers });
    collectDefaultMetrics({ register: this.registry });
    this.answered = counter('answered', 'Money mutations answered, by how.', ['outcome']);
    this.refused = counter('refused', 'Errors that went out, by code.', ['code']);
    this.storeErrors = counter('store_errors', 'Calls of the first door that failed.');
    this.poolReplaced = counter('pool_replaced', 'Database pools replaced on suspicion.');
    this.unrecorded = counter('unrecorded', 'PSP answers that could not be written at once.');
    this.recovered = counter('recovered', 'Entries that recovery dealt with, by fate.', ['fate']);
    this.takeOvers = counter('take_overs', 'Entries that recovery took over, each time.');
    this.recoverySeconds = new Histogram({
      name: 'semel_recovery_seconds',
      help: 'Time from the send of an entry to its outcome, of those that recovery ended.',
      buckets: RECOVERY_BUCKETS_S,
      registers,
    });
    this.fencedWrites = counter(
      'fenced_writes',
      'Outcomes that moved nothing, since their entry had another owner by then.',
    );
    this.lateExecutions = counter(
      'late_executions',
      'Executions that came after a refusal and are given back: each is an alert.',
      ['psp'],
    );
    this.webhooks = counter('webhooks', 'Webhooks that PSPs sent, by what came of them.', [
      'psp',
      'result',
    ]);
    this.eventsSent = counter('stream_messages', 'Messages that went out on streams.');
    this.linesGrown = counter(
      'event_lines_grown',
      'How often this process gave a merchant further event positions.',
    );
    this.webhookAttempts = counter(
      'webhook_attempts',
      'Attempts to deliver a webhook to a merchant, by what they ended in.',
      ['result'],
    );
    this.webhookDisabled = counter(
      'webhook_endpoints_disabled',
      'Endpoints of merchants that this process disabled, by why.',
      ['reason'],
    );
    for (const outcome of ['executed', 'replayed', 'joined', 'in_doubt']) {
      this.answered.inc({ outcome }, 0);
    }
    this.#watchOpenWork(openWork);
  }

  /** @param open how many streams are open, asked at each scrape */
  watchStreams(open: () => number): void {
    new Gauge({
      name: 'semel_open_streams',
      help: 'Streams of subscriptions that are open.',
      registers: [this.registry],
      collect() {
        this.set(open());
      },
    });
  }

  /**
   * The gauges share one question, however often they are scraped; where it has no answer, none of them
   * has a value.
   */
  #watchOpenWork(openWork: () => Promise<OpenWork>): void {
    const registers = [this.registry];
    let asked: Promise<OpenWork | undefined> | undefined;
    let askedAt = Number.NEGATIVE_INFINITY;
    const ask = () => {
      const now = performance.now();
      if (asked === undefined || now - askedAt > ASK_EVERY_MS) {
        askedAt = now;
        asked = openWork().catch(() => undefined);
      }
      return asked;
    };
    new Gauge({
      name: 'semel_oldest_unknown_seconds',
      help: 'Age of the oldest journal entry in state UNKNOWN; not a number if it cannot be asked.',
      registers,
      async collect() {
        this.set((await ask())?.oldestUnknownS ?? Number.NaN);
      },
    });
    const open = new Gauge({
      name: 'semel_open_entries',
      help: 'Journal entries whose outcome is not known yet, by state.',
      labelNames: ['state'],
      registers,
      async collect() {
        const work = await ask();
        this.reset();
        for (const [state, count] of Object.entries(work?.byState ?? {}))
          this.set({ state }, count);
      },
    });
    open.reset();
  }
}
