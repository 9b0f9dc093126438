import type { JobOptions, Jobs, startJobs } from './delivery-jobs.ts';
import { startLoop } from './loop.ts';

export interface DeliveryOptions extends JobOptions {
  /** How often endpoints are looked for that should be looked at and are not, in ms. */
  readonly sweepMs: number;
}

export interface Deliveries {
  /** An endpoint has just been made, most likely. */
  soon(): void;
  /** What is under way is broken off, and delivered by whoever comes next. */
  stop(): Promise<void>;
}

/**
 * Delivers webhooks for as long as this process lives. Any number may run at once. Jobs (of
 * graphile-worker) only say where to look; what there is to do, the deliveries say. So a job that died
 * with its process, which the library would set free after hours, is not waited for: the sweep adds
 * it again as soon as the lease on its endpoint has ended.
 */
export function startDeliveries(options: DeliveryOptions): Deliveries {
  const stopping = new AbortController();
  let jobs: Promise<Jobs> | undefined;
  const begin = (): Promise<Jobs> => {
    const begun = jobsOf(options, stopping.signal, () => {
      // Also after a failure that it takes for final: the next sweep begins anew.
      if (jobs === begun) jobs = undefined;
    });
    return begun;
  };
  const sweep = startLoop({
    everyMs: options.sweepMs,
    onError: options.onError,
    run: async () => {
      const { live } = await options.outbox.sweep();
      // Where nobody wants webhooks, nobody looks for jobs.
      if (live > 0 && !stopping.signal.aborted) {
        jobs ??= begin();
        await jobs;
      }
      return false;
    },
  });
  return {
    soon: () => sweep.soon(),
    stop: async () => {
      stopping.abort();
      await sweep.stop();
      await (await jobs?.catch(() => undefined))?.stop();
    },
  };
}

/** The library is loaded where somebody wants webhooks only. */
const jobsOf: typeof startJobs = async (...how) =>
  (await import('./delivery-jobs.ts')).startJobs(...how);
