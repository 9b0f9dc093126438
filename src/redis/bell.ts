import type { RedisConnections } from './connect.ts';

/** How far somebody's line of events reaches. */
interface End {
  readonly merchantId: string;
  readonly position: number;
}

const CHANNEL = 'semel:events';
const MOST_BYTES = 64 * 1_024;

/**
 * Tells every process that lines of events have grown. It only wakes: what is lost here is found a
 * little later by looking, and what is heard here is looked up.
 */
export class Bell {
  readonly #connections: RedisConnections;

  constructor(connections: RedisConnections) {
    this.#connections = connections;
  }

  ring(ends: readonly End[]): void {
    const text = JSON.stringify(ends.map(({ merchantId, position }) => [merchantId, position]));
    if (text.length > MOST_BYTES) return;
    this.#connections.commands.publish(CHANNEL, text).catch(() => {});
  }

  /** Listens for as long as there is a connection, and again after each new one. */
  onRing(heard: (ends: readonly End[]) => void): void {
    const { subscriber } = this.#connections;
    const subscribe = (): void => {
      subscriber.subscribe(CHANNEL).catch(() => {});
    };
    subscriber.on('ready', subscribe);
    if (subscriber.status === 'ready') subscribe();
    subscriber.on('message', (channel: string, text: string) => {
      if (channel === CHANNEL && text.length <= MOST_BYTES) heard(endsIn(text));
    });
  }
}

function endsIn(text: string): readonly End[] {
  try {
    return (JSON.parse(text) as [unknown, unknown][]).map(([merchantId, position]) => ({
      merchantId: String(merchantId),
      position: Number(position),
    }));
  } catch {
    return [];
  }
}
