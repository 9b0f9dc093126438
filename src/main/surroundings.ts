import type { Metrics } from '../http/index.ts';
import type { Config } from './config.ts';
import type { Log } from './log.ts';

/** What each part is told of the environment and may report to. */
export interface Surroundings {
  readonly config: Config;
  readonly log: Log;
  readonly metrics: Metrics;
}
