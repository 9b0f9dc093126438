import type { Call, Ending } from './call.ts';
import type { Clock } from './clock.ts';
import { intentId } from './store.ts';

const RETRY_AFTER_MS = 1_000;

interface Flight {
  readonly ending: Promise<Ending<unknown>>;
  waiters: number;
}

export interface FlightOptions {
  readonly maxPerKey: number;
  readonly maxInAll: number;
  readonly joinWaitMs: number;
  readonly clock: Clock;
}

/**
 * Inside one process equal calls (one key, one payload) share one promise; only the first of them
 * reaches the store. Another payload under the key is the store's to judge, and the journal's.
 */
export class Flights {
  readonly #running = new Map<string, Flight>();
  readonly #options: FlightOptions;
  #waiters = 0;

  constructor(options: FlightOptions) {
    this.#options = options;
  }

  async share<A>(call: Call<A>, lead: () => Promise<Ending<A>>): Promise<Ending<A>> {
    const id = `${intentId(call.intent)} ${call.fingerprint}`;
    const running = this.#running.get(id);
    if (running !== undefined) return this.#join(call, running);
    const flight: Flight = { ending: lead(), waiters: 0 };
    this.#running.set(id, flight);
    try {
      return (await flight.ending) as Ending<A>;
    } finally {
      this.#running.delete(id);
    }
  }

  async #join<A>(call: Call<A>, flight: Flight): Promise<Ending<A>> {
    const { maxPerKey, maxInAll, joinWaitMs, clock } = this.#options;
    const full = flight.waiters >= maxPerKey || this.#waiters >= maxInAll;
    if (call.onInFlight === 'REFUSE' || full) return { kind: 'busy', retryAfterMs: RETRY_AFTER_MS };
    flight.waiters += 1;
    this.#waiters += 1;
    try {
      const landed = await landing(flight.ending as Promise<Ending<A>>, joinWaitMs, clock);
      return landed === undefined
        ? { kind: 'busy', retryAfterMs: RETRY_AFTER_MS }
        : asJoined(landed);
    } finally {
      flight.waiters -= 1;
      this.#waiters -= 1;
    }
  }
}

/** The flight's ending, or undefined if it does not land in time. */
async function landing<A>(
  ending: Promise<Ending<A>>,
  ms: number,
  clock: Clock,
): Promise<Ending<A> | undefined> {
  let landed = false;
  const settled = ending.then(
    () => {
      landed = true;
    },
    () => {
      landed = true;
    },
  );
  await clock.sleep(ms, settled);
  return landed ? ending : undefined;
}

function asJoined<A>(ending: Ending<A>): Ending<A> {
  if (ending.kind !== 'answered' || ending.how === 'IN_DOUBT') return ending;
  return { ...ending, how: 'JOINED' };
}
