import type { Services } from '../graphql/index.ts';
import { type Database, PostgresExpiries } from '../postgres/index.ts';
import { type Loop, startRecovery, startSweep } from '../workers/index.ts';
import { alertOf, LATE_ALERT } from './alerts.ts';
import { openBudgetMs, openReversals } from './database.ts';
import type { Surroundings } from './surroundings.ts';

const RECOVERY = { everyMs: 1_000, limit: 100 } as const;
const SWEEP = { everyMs: 2_000, limit: 50 } as const;

/** What is in doubt is settled, and what was executed too late is given back. */
export function recoverWith(
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

/** What the PSP no longer holds is EXPIRED. */
export function sweepWith(
  { config, log }: Surroundings,
  database: Database,
  { psp }: Services,
): Loop {
  return startSweep({
    psp,
    expiries: new PostgresExpiries(database, openBudgetMs(config)),
    ...SWEEP,
    onError: (err) => log.warn({ err }, 'expired authorisations will be looked for again'),
  });
}
