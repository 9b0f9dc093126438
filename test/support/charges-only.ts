import type { Outcome } from '../../src/payments/index.ts';

const notPlayed = async (): Promise<Outcome> => ({ kind: 'unknown', reason: 'not played' });

/** The rest of a PSP, for fakes that only charge. */
export const chargesOnly = {
  capture: notPlayed,
  void: notPlayed,
  refund: notPlayed,
  confirm: notPlayed,
};
