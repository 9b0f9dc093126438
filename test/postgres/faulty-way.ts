import type { JournalOptions, PostgresJournal } from '../../src/postgres/index.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';
import { type Books, holdOf, NOT_SENT, newPayment } from './books.ts';

/** A journal whose only connection goes through a relay that can misbehave. */
export interface FaultyWay {
  readonly proxy: FaultProxy;
  readonly journal: PostgresJournal;
  /** Why pools were replaced. */
  readonly suspicions: readonly string[];
}

interface Times extends Partial<JournalOptions> {
  readonly statementMs?: number;
}

/** Lends the way after each statement has been used once, so that every reply is an outcome. */
export async function withFaultyWay(
  books: Books,
  { statementMs = 3_000, ...times }: Times,
  work: (way: FaultyWay) => Promise<void>,
): Promise<void> {
  const url = new URL(books.url);
  const proxy = await startProxy(Number(url.port));
  try {
    url.port = String(proxy.port);
    const suspicions: string[] = [];
    const journal = books.journal(times, {
      url: url.href,
      poolMax: 1,
      statementMs,
      onSuspicion: (why) => suspicions.push(why),
    });
    // On a busy machine a short deadline may be missed here already: then once more from the start.
    for (let clean = false; !clean; ) {
      suspicions.length = 0;
      clean = await warmUp(journal).then(
        () => suspicions.length === 0,
        () => false,
      );
    }
    await work({ proxy, journal, suspicions });
  } finally {
    await proxy.close();
  }
}

async function warmUp(journal: PostgresJournal): Promise<void> {
  const asked = newPayment();
  await journal.settle(holdOf(await journal.open(asked)), NOT_SENT);
  const released = await journal.open(asked);
  if (released.kind === 'exists') await journal.reopen(released);
}
