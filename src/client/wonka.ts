/**
 * As much of the streams of `wonka` 6 (urql's) as an exchange needs: a source is called with a sink,
 * and the sink with signals. A start carries the function to talk back with, a push a value, and
 * the end is a plain 0.
 */
type Talkback = (signal: 0 | 1) => void;
type Signal<T> = ({ tag: 0 } & [Talkback]) | ({ tag: 1 } & [T]) | 0;
export type Source<T> = (sink: (signal: Signal<T>) => void) => void;

const PULL = 0;
const CLOSE = 1;

export interface Listener<T> {
  next(value: T): void;
  end(): void;
}

/** Takes all that a source gives. @returns how to stop */
export function listen<T>(from: Source<T>, { next, end }: Listener<T>): () => void {
  let talk: Talkback = () => {};
  from((signal) => {
    if (signal === 0) return end();
    if (signal.tag === 0) {
      talk = signal[0];
    } else {
      next(signal[0]);
    }
    talk(PULL);
  });
  return () => talk(CLOSE);
}

/** A source that gives what `begin` gives, from the time on that somebody listens. */
export function source<T>(begin: (to: Listener<T>) => () => void): Source<T> {
  return (sink) => {
    let open = true;
    let stop = (): void => {};
    const talk: Talkback = (signal) => {
      if (signal !== CLOSE || !open) return;
      open = false;
      stop();
    };
    sink(Object.assign<[Talkback], { tag: 0 }>([talk], { tag: 0 }));
    stop = begin({
      next: (value) => {
        if (open) sink(Object.assign<[T], { tag: 1 }>([value], { tag: 1 }));
      },
      end: () => {
        if (open) sink(0);
        open = false;
      },
    });
  };
}
