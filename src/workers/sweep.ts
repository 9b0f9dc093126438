import { type ExpireDeps, expireOnce } from '../payments/index.ts';
import { type Loop, startLoop } from './loop.ts';

export interface SweepOptions extends ExpireDeps {
  /** How often authorisations whose time is up are looked for, in ms. */
  readonly everyMs: number;
  /** How many the PSP is asked about in one run. */
  readonly limit: number;
  readonly onError: (error: unknown) => void;
}

/** Marks authorisations that have expired for as long as this process lives. Any number may run. */
export function startSweep(options: SweepOptions): Loop {
  const { everyMs, limit, onError } = options;
  return startLoop({
    everyMs,
    onError,
    run: async () => (await expireOnce(options, limit)).expired === limit,
  });
}
