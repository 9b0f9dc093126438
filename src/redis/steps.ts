import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleAll } from 'cockatiel';
import type { RedisClient } from './connect.ts';
import { isRefusal, reasonOf, StoreUnavailable } from './store-unavailable.ts';

export interface StepOptions {
  /** The most a step may take, in ms, resending included. */
  readonly budgetMs: number;
  /** So many failures in a row open the breaker. */
  readonly failuresToOpen: number;
  /** How long the breaker stays open, in ms, until one call tries again. */
  readonly openMs: number;
}

interface Attempt {
  sent: boolean;
  wanted: boolean;
}

class OverBudget extends Error {
  readonly code = 'TIMEOUT';
}

class NotConnected extends Error {
  readonly code = 'NOT_CONNECTED';
}

/** One command, or two; `wanted` turns false when the budget is used up and nobody listens. */
export type Step<T> = (client: RedisClient, wanted: () => boolean) => Promise<T>;

/**
 * Takes single steps on Redis, each within its budget: the answer, or `StoreUnavailable`. Behind the
 * breaker a Redis that is dead or stalled costs nothing.
 */
export class Steps {
  readonly #client: RedisClient;
  readonly #budgetMs: number;
  readonly #breaker;
  readonly #reconnections = new Set<() => void>();

  constructor(client: RedisClient, { budgetMs, failuresToOpen, openMs }: StepOptions) {
    this.#client = client;
    this.#budgetMs = budgetMs;
    this.#breaker = circuitBreaker(handleAll, {
      breaker: new ConsecutiveBreaker(failuresToOpen),
      halfOpenAfter: openMs,
    });
    client.on('ready', () => {
      for (const goOn of this.#reconnections) goOn();
      this.#reconnections.clear();
    });
  }

  /** @throws StoreUnavailable */
  async take<T>(step: Step<T>): Promise<T> {
    // Known at no cost; the breaker is for a Redis that is there and does not do what it should.
    if (this.#client.status !== 'ready') throw new StoreUnavailable('NOT_CONNECTED', false);
    // While one call tests a Redis that was down, the others do not queue behind it.
    if (this.#breaker.state === CircuitState.HalfOpen) {
      throw new StoreUnavailable('BREAKER_OPEN', false);
    }
    const attempt = { sent: false, wanted: true };
    try {
      return await this.#breaker.execute(() => this.#withinBudget(step, attempt));
    } catch (error) {
      throw new StoreUnavailable(reasonOf(error), attempt.sent && !isRefusal(error));
    }
  }

  #withinBudget<T>(step: Step<T>, attempt: Attempt): Promise<T> {
    return new Promise((resolve, reject) => {
      const expire = (): void => {
        attempt.wanted = false;
        reject(new OverBudget());
      };
      // A reply that has arrived but was not read yet, because this process was busy, still counts.
      const timer = setTimeout(() => setImmediate(expire), this.#budgetMs);
      const end = (): void => clearTimeout(timer);
      const done = this.#resending(step, attempt);
      done.then(end, end);
      done.then(resolve, reject);
    });
  }

  /** If the connection is lost with the reply, asks once more: every step knows its own token. */
  async #resending<T>(step: Step<T>, attempt: Attempt): Promise<T> {
    try {
      return await this.#send(step, attempt);
    } catch (error) {
      const lost = attempt.sent && this.#client.status !== 'ready' && !isRefusal(error);
      if (!lost) throw error;
      await this.#reconnected();
      if (!attempt.wanted) throw error;
      return await this.#send(step, attempt);
    }
  }

  async #send<T>(step: Step<T>, attempt: Attempt): Promise<T> {
    if (this.#client.status !== 'ready') throw new NotConnected();
    attempt.sent = true;
    leaveTogether(this.#client);
    return await step(this.#client, () => attempt.wanted);
  }

  #reconnected(): Promise<void> {
    return new Promise((goOn) => this.#reconnections.add(goOn));
  }
}

/** What is sent in one turn of the event loop leaves in one write, which costs as much as one step. */
function leaveTogether(client: RedisClient): void {
  if (!('stream' in client)) return;
  const { stream } = client;
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}
