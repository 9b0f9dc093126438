import { JournalUnavailable } from '../payments/index.ts';

/** There was no room or no time left for it: nothing was done, and nothing will be. */
export class NotRun extends Error {
  override readonly name = 'NotRun';
}

/** @throws JournalUnavailable where a queue says `NotRun`; that stays its cause */
export async function orUnavailable<T>(queued: Promise<T>): Promise<T> {
  try {
    return await queued;
  } catch (error) {
    if (error instanceof NotRun) throw new JournalUnavailable(error.message, { cause: error });
    throw error;
  }
}
