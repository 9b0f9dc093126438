interface Flight<T> {
  readonly landing: Promise<T>;
  readonly stop: AbortController;
  callers: number;
}

/**
 * Calls of one intent that overlap share one promise: a double click is one payment. A caller that
 * aborts leaves at once; the work itself is aborted when the last one has left.
 */
export class Flights<T> {
  readonly #flights = new Map<string, Flight<T>>();

  async join(
    id: string,
    signal: AbortSignal | undefined,
    begin: (signal: AbortSignal) => Promise<T>,
    left: (reason: unknown) => T,
  ): Promise<T> {
    if (signal?.aborted) return left(signal.reason);
    const flight = this.#flights.get(id) ?? this.#begin(id, begin);
    flight.callers += 1;
    let leave = (): void => {};
    const gone = new Promise<T>((resolve) => {
      leave = () => {
        flight.callers -= 1;
        resolve(left(signal?.reason));
        if (flight.callers > 0) return;
        if (this.#flights.get(id) === flight) this.#flights.delete(id);
        flight.stop.abort(signal?.reason);
      };
    });
    signal?.addEventListener('abort', leave);
    try {
      return await Promise.race([flight.landing, gone]);
    } finally {
      signal?.removeEventListener('abort', leave);
    }
  }

  #begin(id: string, begin: (signal: AbortSignal) => Promise<T>): Flight<T> {
    const stop = new AbortController();
    const landing = begin(stop.signal).finally(() => {
      if (this.#flights.get(id) === flight) this.#flights.delete(id);
    });
    const flight: Flight<T> = { landing, stop, callers: 0 };
    this.#flights.set(id, flight);
    return flight;
  }
}
