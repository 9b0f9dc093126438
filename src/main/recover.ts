import type { JournalEntry, RecoveryReport } from '../payments/index.ts';
import { type Database, migrationsIn, openWork, whyNotReady } from '../postgres/index.ts';
import { recoveryRun, startRecovery } from '../workers/index.ts';
import { alertOf, LATE_ALERT } from './alerts.ts';
import { BadConfiguration, type Config } from './config.ts';
import { migrationsFolder, openDatabase, openJournal, openReversals } from './database.ts';
import { sayError } from './log.ts';
import { openPsp } from './psp.ts';

const LIMIT = 100;
const EVERY_MS = 1_000;
const WATCH_EVERY_MS = 5_000;

export interface RecoverOptions {
  /** True: ends when nothing is due any more; false: at a signal. */
  readonly once: boolean;
  /** True: says every few seconds what is still open. */
  readonly watch: boolean;
  /** Told how it goes on, a line at a time. */
  readonly say: (line: string) => void;
}

/**
 * `semel recover`: recovery as a process of its own, beside any number of servers and of its like.
 *
 * @throws BadConfiguration if the database or the PSP is not named: it embeds neither
 */
export async function recover(config: Config, { once, watch, say }: RecoverOptions): Promise<void> {
  const { DATABASE_URL, SIMULATOR_URL, PSP } = config;
  if (DATABASE_URL === undefined) throw unset('DATABASE_URL', 'postgres://');
  if (PSP === 'simulator' && SIMULATOR_URL === undefined) throw unset('SIMULATOR_URL', 'http://');
  const database = openDatabase(config, DATABASE_URL, (why) =>
    say(`The pool was replaced: ${why}`),
  );
  const psp = await openPsp(config, { simulatorUrl: SIMULATOR_URL, simulatorSecrets: [] });
  const progress = newProgress();
  const work = {
    journal: openJournal(config, database),
    reversals: openReversals(config, database),
    psp,
    limit: LIMIT,
    onUnrecorded: (error: unknown) => say(`Stays in doubt: ${sayError(error)}`),
    onReport: (report: RecoveryReport) => say(progress.add(report)),
    onLate: (reversal: JournalEntry) => say(`${LATE_ALERT}: ${JSON.stringify(alertOf(reversal))}`),
    onError: (error: unknown) => say(`Will try again: ${sayError(error)}`),
  };
  try {
    const why = await whyNotReady(database, migrationsIn(migrationsFolder()));
    if (why !== undefined) throw new Error(`${why}. Run: semel migrate`);
    progress.due = (await openWork(database)).due;
    if (once) {
      while ((await recoveryRun(work)).taken > 0);
      say('Nothing is due.');
      return;
    }
    const loop = startRecovery({ ...work, everyMs: EVERY_MS });
    say('Recovery runs.');
    const watching = watch ? startWatch(database, say) : undefined;
    await new Promise<void>((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    });
    clearInterval(watching);
    await loop.stop();
  } finally {
    await Promise.all([psp.close(), database.close()]);
  }
}

function startWatch(database: Database, say: (line: string) => void): NodeJS.Timeout {
  const look = async (): Promise<void> => {
    const { byState, due, oldestUnknownS } = await openWork(database);
    const states = Object.entries(byState).map(([state, count]) => `${count} ${state}`);
    say(
      `Open: ${states.join(', ')}; ${due} due; the oldest UNKNOWN is ${oldestUnknownS | 0} s old`,
    );
  };
  return setInterval(() => {
    look().catch((error: unknown) => say(`What is open cannot be read: ${sayError(error)}`));
  }, WATCH_EVERY_MS);
}

/** How far this process has come with what was due when it began; others may do part of it. */
function newProgress() {
  let taken = 0;
  return {
    due: 0,
    add(report: RecoveryReport): string {
      taken += report.taken;
      const sum = this.due > LIMIT ? `${taken} of ${Math.max(this.due, taken)} due: ` : '';
      return `${sum}${lineOf(report)}`;
    },
  };
}

function unset(name: string, begins: string): BadConfiguration {
  return new BadConfiguration([`${name} is not set; accepted: a URL that begins with ${begins}.`]);
}

function lineOf({ taken, settled, resent, stillOpen, inReview, lost }: RecoveryReport): string {
  const fates = `${settled} settled, ${stillOpen} still open, ${inReview} in review, ${lost} lost`;
  return `${taken} taken over: ${fates}; ${resent} sent again`;
}
