import { concludeReversal } from './conclude.ts';
import { sendTo } from './orders.ts';
import type { JournalEntry } from './payment.ts';
import type { Hold } from './ports.ts';
import { record, type SendDeps } from './send.ts';

/** Executions that came after their refusal. Throws `JournalUnavailable`. */
export interface Reversals {
  /**
   * T1 of at most `limit` reversals: for each execution of a charge or authorisation that was answered
   * as declined or failed, and that the evidence has since shown, an entry of its own and the posting
   * of what was taken. Each execution once, however often it was told and whoever looks.
   */
  open(limit: number, psp: string): Promise<readonly Hold[]>;
}

export interface ReverseDeps extends Pick<SendDeps, 'journal' | 'psp' | 'onUnrecorded'> {
  readonly reversals: Reversals;
  /** Told of each reversal once it is booked, before it is sent; it must not throw. */
  readonly onLate?: (reversal: JournalEntry) => void;
}

/**
 * Gives back what the PSP executed after it had been answered as refused: an answer that was given is
 * never changed (P6, P7). A reversal that is left without an outcome is ended by recovery, like every entry.
 *
 * @returns how many were begun
 */
export async function reverseLate(deps: ReverseDeps, limit: number): Promise<number> {
  const holds = await deps.reversals.open(limit, deps.psp.name);
  await Promise.all(
    holds.map(async (hold) => {
      deps.onLate?.(hold.entry);
      try {
        const outcome = await sendTo(deps.psp, hold);
        await record(deps, hold, concludeReversal(hold.entry, outcome));
      } catch (error) {
        deps.onUnrecorded?.(error);
      }
    }),
  );
  return holds.length;
}
