import { type RecoveryReport, recoverOnce } from '../payments/index.ts';
import { migrationsIn, whyNotReady } from '../postgres/index.ts';
import { startRecovery } from '../workers/index.ts';
import { BadConfiguration, type Config } from './config.ts';
import { migrationsFolder, openDatabase, openJournal } from './database.ts';
import { sayError } from './log.ts';
import { openPsp } from './psp.ts';

const LIMIT = 100;
const EVERY_MS = 1_000;

export interface RecoverOptions {
  /** True: ends when nothing is due any more; false: at a signal. */
  readonly once: boolean;
  /** Told how it goes on, a line at a time. */
  readonly say: (line: string) => void;
}

/**
 * `semel recover`: recovery as a process of its own, beside any number of servers.
 *
 * @throws BadConfiguration if the database or the PSP is not named: it embeds neither
 */
export async function recover(config: Config, { once, say }: RecoverOptions): Promise<void> {
  const { DATABASE_URL, SIMULATOR_URL, PSP } = config;
  if (DATABASE_URL === undefined) throw unset('DATABASE_URL', 'postgres://');
  if (PSP === 'simulator' && SIMULATOR_URL === undefined) throw unset('SIMULATOR_URL', 'http://');
  const database = openDatabase(config, DATABASE_URL, (why) =>
    say(`The pool was replaced: ${why}`),
  );
  const psp = await openPsp(config, { simulatorUrl: SIMULATOR_URL, simulatorSecrets: [] });
  const onUnrecorded = (error: unknown) => say(`Stays in doubt: ${sayError(error)}`);
  const deps = { journal: openJournal(config, database), psp, onUnrecorded };
  const onReport = (report: RecoveryReport) => say(lineOf(report));
  try {
    const why = await whyNotReady(database, migrationsIn(migrationsFolder()));
    if (why !== undefined) throw new Error(`${why}. Run: semel migrate`);
    if (once) {
      for (let taken = LIMIT; taken > 0; ) {
        const report = await recoverOnce(deps, LIMIT);
        taken = report.taken;
        if (taken > 0) onReport(report);
      }
      say('Nothing is due.');
      return;
    }
    const onError = (error: unknown) => say(`Will try again: ${sayError(error)}`);
    const loop = startRecovery({ ...deps, everyMs: EVERY_MS, limit: LIMIT, onReport, onError });
    say('Recovery runs.');
    await new Promise<void>((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    });
    await loop.stop();
  } finally {
    await Promise.all([psp.close(), database.close()]);
  }
}

function unset(name: string, begins: string): BadConfiguration {
  return new BadConfiguration([`${name} is not set; accepted: a URL that begins with ${begins}.`]);
}

function lineOf({ taken, settled, resent, stillOpen, inReview, lost }: RecoveryReport): string {
  const fates = `${settled} settled, ${stillOpen} still open, ${inReview} in review, ${lost} lost`;
  return `${taken} taken over: ${fates}; ${resent} sent again`;
}
