import {
  Logger,
  makeWorkerUtils,
  runTaskList,
  type TaskList,
  type WorkerPool,
} from 'graphile-worker';
import pg from 'pg';
import { type DeliverDeps, deliverDue, type EndpointKey, JOBS_SCHEMA } from '../webhooks/index.ts';

export interface JobOptions extends DeliverDeps {
  /** Where the jobs are: the database of the deliveries. */
  readonly url: string;
  readonly onError: (error: unknown) => void;
}

/** Endpoints that one process looks at side by side: most of that time it waits for them. */
const SLOTS = 24;
/** Of them for endpoints that took nothing the last time: each may cost a whole time-out. */
const FAILING_SLOTS = 8;
const FAILING = 'failing';
/** A job whose time has come is found within this time, in ms; a new one at once. */
const POLL_MS = 2_000;
const CONNECTIONS = 3;
const STATEMENT_MS = 10_000;
const CONNECT_MS = 5_000;

export interface Jobs {
  stop(): Promise<void>;
}

/**
 * Takes jobs until it is stopped.
 *
 * @param onEnded told once it runs no longer, whyever
 */
export async function startJobs(
  options: JobOptions,
  signal: AbortSignal,
  onEnded: () => void,
): Promise<Jobs> {
  const { url, onError } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
    keepAlive: true,
    application_name: 'semel-jobs',
  });
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', onError));
  const end = async () => {
    onEnded();
    await pool.end();
  };
  try {
    // Jobs of processes that died stay behind once others have replaced them.
    const logger = loggerFor(onError);
    const utils = await makeWorkerUtils({ pgPool: pool, schema: JOBS_SCHEMA, logger });
    await utils.cleanup({ tasks: ['DELETE_PERMAFAILED_JOBS'] });
    await utils.release();
    const failing = { running: 0 };
    const tasks = tasksOf(options, failing, signal);
    const workers = runTaskList(settings(logger, failing), tasks, pool);
    const ended = workers.promise.catch(onError).then(end);
    ended.catch(onError);
    return { stop: () => stopped(workers, ended) };
  } catch (error) {
    await end();
    throw error;
  }
}

async function stopped(workers: WorkerPool, ended: Promise<void>): Promise<void> {
  if (workers.abortSignal.aborted) return ended;
  // It rejects where it was stopping by itself.
  await Promise.resolve(workers.gracefulShutdown()).catch(() => {});
  await ended;
}

/** How many endpoints that took nothing the last time are being looked at. */
interface Failing {
  running: number;
}

const settings = (logger: Logger, failing: Failing) => ({
  schema: JOBS_SCHEMA,
  concurrency: SLOTS,
  pollInterval: POLL_MS,
  noHandleSignals: true,
  logger,
  forbiddenFlags: () => (failing.running < FAILING_SLOTS ? null : [FAILING]),
  // By itself the library does not wait for the statement that ends a job, and if that fails nobody
  // catches it: the whole process would end. In batches it is caught and repeated.
  preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
});

function tasksOf(options: JobOptions, failing: Failing, signal: AbortSignal): TaskList {
  return {
    // A job is not tried again by itself: what is left to do is found by the sweep.
    deliver_webhooks: async (payload, { job }) => {
      const counts = job.flags?.[FAILING] === true ? 1 : 0;
      failing.running += counts;
      try {
        await deliverDue(options, payload as EndpointKey, signal);
      } catch (error) {
        if (!signal.aborted) options.onError(error);
      } finally {
        failing.running -= counts;
      }
    },
  };
}

/** The library's own words are not for our log: only its errors are, as far as they are ones. */
function loggerFor(onError: (error: unknown) => void): Logger {
  return new Logger(() => (level, message, meta) => {
    if (level === 'error') onError(meta?.['error'] ?? new Error(message));
  });
}
