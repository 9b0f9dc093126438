import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** What the journal holds that has no outcome yet. */
export interface OpenWork {
  readonly byState: Readonly<Record<string, number>>;
  /** Age of the oldest entry in state UNKNOWN, in seconds; 0 if there is none. */
  readonly oldestUnknownS: number;
}

/** What this process counts, in the Prometheus text format. */
export class Metrics {
  readonly registry = new Registry();
  readonly answered: Counter<'outcome'>;
  readonly refused: Counter<'code'>;
  readonly storeErrors: Counter;
  readonly poolReplaced: Counter;
  readonly unrecorded: Counter;
  readonly recovered: Counter<'fate'>;
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

  /** Both gauges of one scrape share one question; where it has no answer, neither has a value. */
  #watchOpenWork(openWork: () => Promise<OpenWork>): void {
    const registers = [this.registry];
    let asked: Promise<OpenWork | undefined> | undefined;
    const ask = () => {
      asked ??= openWork()
        .catch(() => undefined)
        .finally(() => {
          asked = undefined;
        });
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
