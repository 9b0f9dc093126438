import { RateLimiterMemory, type RateLimiterRes } from 'rate-limiter-flexible';

export interface LimitOptions {
  /** Requests a second that one API key may send to this process; 0 for no limit. */
  readonly perKeyPerSecond: number;
}

/** Wrong credentials that one address may send in a minute. */
const WRONG_CREDENTIALS = { points: 120, duration: 60 };

/** The rate limits of this process. */
export class Limits {
  readonly #perKey: RateLimiterMemory | undefined;
  readonly #wrong = new RateLimiterMemory(WRONG_CREDENTIALS);

  constructor({ perKeyPerSecond }: LimitOptions) {
    if (perKeyPerSecond > 0) {
      this.#perKey = new RateLimiterMemory({ points: perKeyPerSecond, duration: 1 });
    }
  }

  /** How long the key has to wait, in ms, or undefined if it may go on. */
  async overRate(keyId: string): Promise<number | undefined> {
    if (this.#perKey === undefined) return undefined;
    return waitOf(this.#perKey.consume(keyId));
  }

  /** Counts a wrong credential. @returns how long the address has to wait, in ms, if it has to */
  async overWrong(address: string): Promise<number | undefined> {
    return waitOf(this.#wrong.consume(address));
  }
}

async function waitOf(consumed: Promise<RateLimiterRes>): Promise<number | undefined> {
  try {
    await consumed;
    return undefined;
  } catch (refused) {
    return Math.max(1, (refused as RateLimiterRes).msBeforeNext);
  }
}
