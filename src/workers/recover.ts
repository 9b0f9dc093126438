import { type RecoveryReport, type ResolveDeps, recoverOnce } from '../payments/index.ts';
import { type Loop, startLoop } from './loop.ts';

export interface RecoveryOptions extends ResolveDeps {
  /** How often entries that are due are looked for, in ms. */
  readonly everyMs: number;
  /** How many entries one run takes over. */
  readonly limit: number;
  readonly onReport: (report: RecoveryReport) => void;
  readonly onError: (error: unknown) => void;
}

/** Settles what is in doubt for as long as this process lives. Any number may run at once. */
export function startRecovery(options: RecoveryOptions): Loop {
  const { everyMs, limit, onReport, onError } = options;
  return startLoop({
    everyMs,
    onError,
    run: async () => {
      const report = await recoverOnce(options, limit);
      if (report.taken > 0) onReport(report);
      return report.taken === limit;
    },
  });
}
