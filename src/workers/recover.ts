import {
  type RecoveryReport,
  type ResolveDeps,
  type ReverseDeps,
  recoverOnce,
  reverseLate,
} from '../payments/index.ts';
import { type Loop, startLoop } from './loop.ts';

export interface RecoveryOptions extends ResolveDeps, ReverseDeps {
  /** How often entries that are due are looked for, in ms. */
  readonly everyMs: number;
  /** How many entries one run takes over. */
  readonly limit: number;
  readonly onReport: (report: RecoveryReport) => void;
  readonly onError: (error: unknown) => void;
}

/** Settles what is in doubt for as long as this process lives. Any number may run at once. */
export function startRecovery(options: RecoveryOptions): Loop {
  const { everyMs, onError } = options;
  return startLoop({
    everyMs,
    onError,
    run: async () => (await recoveryRun(options)).more,
  });
}

/** One run: what came too late is given back, and what is due is asked about. */
export async function recoveryRun(
  options: Omit<RecoveryOptions, 'everyMs'>,
): Promise<{ readonly more: boolean; readonly taken: number }> {
  const { limit, onReport, onError } = options;
  const reversed = await reverseLate(options, limit).catch((error: unknown) => {
    onError(error);
    return 0;
  });
  const report = await recoverOnce(options, limit);
  if (report.taken > 0) onReport(report);
  const taken = reversed + report.taken;
  return { more: reversed === limit || report.taken === limit, taken };
}
