import {
  BrokenCircuitError,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhenResult,
} from 'cockatiel';
import type { Reply } from './exchange.ts';

export interface BreakerSettings {
  /** Failures to connect in a row that open the breaker. */
  readonly failures: number;
  /** How long an open breaker lets nobody through, in ms. */
  readonly openMs: number;
}

/**
 * Spares everybody the wait for a PSP that cannot be connected to. What it holds back was not
 * sent, which is a proof. Only a missing connection counts: answers and time-outs may be the
 * doing of one merchant's payment methods and must not stop the others.
 */
export class Breaker {
  readonly #policy;
  readonly #openMs: number;
  #openedAt = 0;

  constructor({ failures, openMs }: BreakerSettings) {
    this.#openMs = openMs;
    this.#policy = circuitBreaker(
      handleWhenResult((connected) => connected === false),
      { halfOpenAfter: openMs, breaker: new ConsecutiveBreaker(failures) },
    );
    this.#policy.onBreak(() => {
      this.#openedAt = Date.now();
    });
  }

  /**
   * Runs the exchange, or tells how long to wait. The breaker judges as soon as the request is
   * on its way, so that a slow answer keeps nobody waiting behind the probe.
   */
  async run(
    send: (onSent: () => void) => Promise<Reply>,
  ): Promise<Reply | { readonly kind: 'open'; readonly retryAfterMs: number }> {
    if (this.#policy.state === CircuitState.HalfOpen) return this.#open();
    let reply: Promise<Reply> | undefined;
    try {
      await this.#policy.execute(
        () =>
          new Promise<boolean>((connected) => {
            reply = send(() => connected(true));
            void reply.then((ended) => connected(!(ended.kind === 'lost' && ended.unreachable)));
          }),
      );
    } catch (error) {
      if (!(error instanceof BrokenCircuitError)) throw error;
    }
    return reply ?? this.#open();
  }

  #open(): { readonly kind: 'open'; readonly retryAfterMs: number } {
    const leftMs = this.#openedAt + this.#openMs - Date.now();
    return { kind: 'open', retryAfterMs: Math.min(Math.max(leftMs, 100), this.#openMs) };
  }
}
