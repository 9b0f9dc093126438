import type { Events } from '../payments/index.ts';
import { type Loop, startLoop } from './loop.ts';

export interface NumberingOptions {
  readonly events: Pick<Events, 'number'>;
  /** How often, if nobody asks for it sooner, in ms. */
  readonly everyMs: number;
  /** How long a run that was asked for lets more commits gather, in ms. */
  readonly gatherMs: number;
  readonly onError: (error: unknown) => void;
}

/** Gives events their positions for as long as this process lives. Any number may run at once. */
export function startNumbering({ events, ...options }: NumberingOptions): Loop {
  return startLoop({
    ...options,
    run: async () => {
      await events.number();
      return false;
    },
  });
}
